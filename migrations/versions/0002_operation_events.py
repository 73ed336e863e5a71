"""What happened to an operation."""

import sqlalchemy as sa
from alembic import op

from dashboard.db import ExactText, JSONColumn, LongText, UTCDateTime
from dashboard.models.record import INNODB, RowId

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    op.create_table(
        "operation_events",
        sa.Column("id", RowId, primary_key=True),
        sa.Column(
            "operation_id",
            RowId,
            sa.ForeignKey("operations.id", name="fk_operation_events_operation_id"),
            nullable=False,
        ),
        sa.Column("seq", sa.Integer, nullable=False),
        sa.Column("at", UTCDateTime, nullable=False),
        sa.Column("kind", ExactText(16), nullable=False),
        sa.Column("from_state", ExactText(24)),
        sa.Column("to_state", ExactText(24)),
        sa.Column("actor_kind", ExactText(16)),
        sa.Column("actor_id", ExactText(254)),
        sa.Column("cause", ExactText(24)),
        sa.Column("reason", LongText),
        sa.Column("evidence", JSONColumn),
        sa.Column("policy_hash", ExactText(64)),
        sa.Column("run_id", sa.BigInteger),
        sa.UniqueConstraint("operation_id", "seq", name="uq_operation_events_operation_id_seq"),
        **INNODB,
    )


def downgrade() -> None:
    op.drop_table("operation_events")
