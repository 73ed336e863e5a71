"""Repairs that people asked for."""

import sqlalchemy as sa
from alembic import op

from dashboard.db import ExactText, JSONColumn, LongText, UTCDateTime
from dashboard.models.record import INNODB, RowId

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    op.create_table(
        "actions",
        sa.Column("id", RowId, primary_key=True),
        sa.Column(
            "operation_id", RowId, sa.ForeignKey("operations.id", name="fk_actions_operation_id"), nullable=False
        ),
        sa.Column("tenant", ExactText(64), nullable=False),
        sa.Column("type", ExactText(64), nullable=False),
        sa.Column("action", ExactText(16), nullable=False),
        sa.Column("state", ExactText(16), nullable=False),
        sa.Column("outcome", ExactText(16)),
        sa.Column("idempotency_key", ExactText(128), nullable=False),
        sa.Column("revision", sa.Integer, nullable=False),
        sa.Column("reason_code", ExactText(32), nullable=False),
        sa.Column("note", LongText, nullable=False),
        sa.Column("reference", LongText),
        sa.Column("risk", ExactText(8), nullable=False),
        sa.Column("snapshot", JSONColumn, nullable=False),
        sa.Column("policy_hash", ExactText(64)),
        sa.Column("child_id", RowId, sa.ForeignKey("operations.id", name="fk_actions_child_id")),
        sa.Column("requested_by", ExactText(254), nullable=False),
        sa.Column("requested_at", UTCDateTime, nullable=False),
        sa.Column("executed_at", UTCDateTime),
        sa.UniqueConstraint("requested_by", "idempotency_key", name="uq_actions_requested_by_idempotency_key"),
        **INNODB,
    )
    op.create_index("ix_actions_operation_id", "actions", ["operation_id"])
    op.create_index("ix_actions_child_id", "actions", ["child_id"])
    op.create_index("ix_actions_state", "actions", ["state", "id"])
    op.create_index("ix_actions_outcome", "actions", ["outcome", "id"])


def downgrade() -> None:
    op.drop_table("actions")
