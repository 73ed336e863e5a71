"""Conflicts under an idempotency key: when other content came, from whom, and which fields differed."""

import sqlalchemy as sa
from alembic import op

from dashboard.db import ExactText, JSONColumn, UTCDateTime
from dashboard.models.record import INNODB, RowId

revision = "0023"
down_revision = "0022"


def upgrade() -> None:
    op.create_table(
        "idempotency_conflicts",
        sa.Column("id", RowId, primary_key=True),
        sa.Column(
            "record_id",
            RowId,
            sa.ForeignKey("idempotency_records.id", name="fk_idempotency_conflicts_record_id", ondelete="CASCADE"),
            nullable=False,
        ),
        sa.Column("at", UTCDateTime, nullable=False),
        sa.Column("fingerprint", ExactText(64), nullable=False),
        sa.Column("fields", JSONColumn),
        sa.Column("actor_id", ExactText(254)),
        sa.Column("correlation_id", ExactText(128)),
        **INNODB,
    )
    op.create_index("ix_idempotency_conflicts_record", "idempotency_conflicts", ["record_id", "at", "id"])


def downgrade() -> None:
    op.drop_table("idempotency_conflicts")
