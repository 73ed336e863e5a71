"""Sessions of people, so that one ends on the server and not only in the browser that asks for it."""

import sqlalchemy as sa
from alembic import op

from dashboard.db import ExactText, UTCDateTime
from dashboard.models.record import INNODB, RowId

revision = "0024"
down_revision = "0023"


def upgrade() -> None:
    op.create_table(
        "sessions",
        sa.Column("id", RowId, primary_key=True),
        sa.Column("secret_hash", ExactText(64), nullable=False),
        sa.Column("user_id", RowId, sa.ForeignKey("users.id", name="fk_sessions_user_id"), nullable=False),
        sa.Column("epoch", sa.Integer, nullable=False),
        sa.Column("created_at", UTCDateTime, nullable=False),
        sa.Column("seen_at", UTCDateTime, nullable=False),
        sa.Column("address", ExactText(64)),
        sa.Column("user_agent", ExactText(255)),
        sa.UniqueConstraint("secret_hash", name="uq_sessions_secret_hash"),
        **INNODB,
    )
    op.create_index("ix_sessions_user_id", "sessions", ["user_id"])
    op.create_index("ix_sessions_seen_at", "sessions", ["seen_at"])


def downgrade() -> None:
    op.drop_table("sessions")
