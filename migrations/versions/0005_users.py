"""People and their grants."""

import sqlalchemy as sa
from alembic import op

from dashboard.db import ExactText, UTCDateTime
from dashboard.models.record import INNODB, RowId

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    op.create_table(
        "users",
        sa.Column("id", RowId, primary_key=True),
        sa.Column("email", ExactText(254), nullable=False),
        sa.Column("password_hash", ExactText(255), nullable=False),
        sa.Column("session_epoch", sa.Integer, nullable=False, server_default="1"),
        sa.Column("locale", ExactText(16)),
        sa.Column("timezone", ExactText(64)),
        sa.Column("theme", ExactText(8), nullable=False, server_default="system"),
        sa.Column("shortcuts", sa.Boolean, nullable=False, server_default=sa.true()),
        sa.Column("created_at", UTCDateTime, nullable=False),
        sa.Column("disabled_at", UTCDateTime),
        sa.UniqueConstraint("email", name="uq_users_email"),
        **INNODB,
    )
    op.create_table(
        "grants",
        sa.Column("id", RowId, primary_key=True),
        sa.Column("user_id", RowId, sa.ForeignKey("users.id", name="fk_grants_user_id"), nullable=False),
        sa.Column("role", ExactText(16), nullable=False),
        sa.Column("tenant", ExactText(64)),
        sa.Column("type", ExactText(64)),
        sa.Column("created_at", UTCDateTime, nullable=False),
        sa.CheckConstraint("role IN ('support', 'operator', 'manager', 'admin')", name="role_known"),
        **INNODB,
    )
    op.create_index("ix_grants_user_id", "grants", ["user_id"])


def downgrade() -> None:
    op.drop_table("grants")
    op.drop_table("users")
