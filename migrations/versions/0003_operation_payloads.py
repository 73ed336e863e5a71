"""Bodies sent and received, out of the way of every list."""

import sqlalchemy as sa
from alembic import op

from dashboard.db import ExactText, UTCDateTime
from dashboard.models.operations import Bytes
from dashboard.models.record import INNODB, RowId

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    op.create_table(
        "operation_payloads",
        sa.Column("id", RowId, primary_key=True),
        sa.Column(
            "operation_id",
            RowId,
            sa.ForeignKey("operations.id", name="fk_operation_payloads_operation_id"),
            nullable=False,
        ),
        sa.Column("kind", ExactText(16), nullable=False),
        sa.Column("content_type", ExactText(128)),
        sa.Column("body", Bytes, nullable=False),
        sa.Column("created_at", UTCDateTime, nullable=False),
        sa.UniqueConstraint("operation_id", "kind", name="uq_operation_payloads_operation_id_kind"),
        **INNODB,
    )


def downgrade() -> None:
    op.drop_table("operation_payloads")
