"""Reveals: who may see which masked field of an operation, until when, and why they asked."""

import sqlalchemy as sa
from alembic import op

from dashboard.db import ExactText, LongText, UTCDateTime
from dashboard.models.record import INNODB, RowId

revision = "0028"
down_revision = "0027"


def upgrade() -> None:
    op.create_table(
        "reveals",
        sa.Column("id", RowId, primary_key=True),
        sa.Column(
            "operation_id", RowId, sa.ForeignKey("operations.id", name="fk_reveals_operation_id"), nullable=False
        ),
        sa.Column("field", ExactText(254), nullable=False),
        sa.Column("revealed_to", ExactText(254), nullable=False),
        sa.Column("idempotency_key", ExactText(128), nullable=False),
        sa.Column("reason", LongText, nullable=False),
        sa.Column("revealed_at", UTCDateTime, nullable=False),
        sa.Column("ends_at", UTCDateTime, nullable=False),
        sa.UniqueConstraint("revealed_to", "idempotency_key", name="uq_reveals_revealed_to"),
        **INNODB,
    )
    op.create_index("ix_reveals_operation", "reveals", ["operation_id", "id"])


def downgrade() -> None:
    op.drop_table("reveals")
