"""Approvals: what each person decided about a proposed action, one vote a person."""

import sqlalchemy as sa
from alembic import op

from dashboard.db import ExactText, LongText, UTCDateTime
from dashboard.models.record import INNODB, RowId

revision = "0022"
down_revision = "0021"


def upgrade() -> None:
    op.create_table(
        "approvals",
        sa.Column("id", RowId, primary_key=True),
        sa.Column("action_id", RowId, sa.ForeignKey("actions.id", name="fk_approvals_action_id"), nullable=False),
        sa.Column("voter", ExactText(254), nullable=False),
        sa.Column("voter_kind", ExactText(16), nullable=False),
        sa.Column("vote", ExactText(16), nullable=False),
        sa.Column("note", LongText),
        sa.Column("binding", ExactText(64), nullable=False),
        sa.Column("idempotency_key", ExactText(128), nullable=False),
        sa.Column("at", UTCDateTime, nullable=False),
        sa.UniqueConstraint("action_id", "voter", name="uq_approvals_action_id_voter"),
        **INNODB,
    )


def downgrade() -> None:
    op.drop_table("approvals")
