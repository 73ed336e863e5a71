"""Lines of result files and signed acknowledgements."""

import sqlalchemy as sa
from alembic import op

from dashboard.db import ExactText, JSONColumn, UTCDateTime
from dashboard.models.record import INNODB, RowId

revision = "0011"
down_revision = "0010"


def upgrade() -> None:
    op.create_table(
        "evidence_items",
        sa.Column("id", RowId, primary_key=True),
        sa.Column("destination", ExactText(64), nullable=False),
        sa.Column("event_id", ExactText(128), nullable=False),
        sa.Column("source", ExactText(16), nullable=False),
        sa.Column("operation_id", RowId, sa.ForeignKey("operations.id", name="fk_evidence_items_operation_id")),
        sa.Column("match", ExactText(16), nullable=False),
        sa.Column("occurred_at", UTCDateTime),
        sa.Column("received_at", UTCDateTime, nullable=False),
        sa.Column("origin", ExactText(254), nullable=False),
        sa.Column("line", sa.BigInteger),
        sa.Column("content", JSONColumn, nullable=False),
        sa.Column("raw_hash", ExactText(64), nullable=False),
        sa.UniqueConstraint("destination", "event_id", name="uq_evidence_items_destination_event_id"),
        **INNODB,
    )
    op.create_index("ix_evidence_items_operation", "evidence_items", ["operation_id", "id"])
    op.create_index("ix_evidence_items_match", "evidence_items", ["match", "id"])


def downgrade() -> None:
    op.drop_table("evidence_items")
