"""Plans: one decision about many operations, its rows frozen at their revisions, and the votes on it."""

import sqlalchemy as sa
from alembic import op

from dashboard.db import ExactText, LongText, UTCDateTime
from dashboard.models.record import INNODB, RowId

revision = "0032"
down_revision = "0031"


def upgrade() -> None:
    op.create_table(
        "bulk_plans",
        sa.Column("id", RowId, primary_key=True),
        sa.Column("action", ExactText(16), nullable=False),
        sa.Column("state", ExactText(16), nullable=False),
        sa.Column("tenant", ExactText(64)),
        sa.Column("type", ExactText(64)),
        sa.Column("idempotency_key", ExactText(128), nullable=False),
        sa.Column("reason_code", ExactText(32)),
        sa.Column("note", LongText),
        sa.Column("reference", LongText),
        sa.Column("total", sa.Integer, nullable=False),
        sa.Column("eligible", sa.Integer, nullable=False),
        sa.Column("canary", sa.Integer),
        sa.Column("canary_passed", sa.SmallInteger, nullable=False, server_default="0"),
        sa.Column("rate", sa.Integer),
        sa.Column("needed", sa.SmallInteger, nullable=False, server_default="0"),
        sa.Column("special", ExactText(64), nullable=False, server_default=""),
        sa.Column("binding", ExactText(64)),
        sa.Column("policy_hash", ExactText(64)),
        sa.Column("requested_by", ExactText(254), nullable=False),
        sa.Column("requested_kind", ExactText(16), nullable=False),
        sa.Column("created_at", UTCDateTime, nullable=False),
        sa.Column("asked_at", UTCDateTime),
        sa.Column("expires_at", UTCDateTime),
        sa.Column("started_at", UTCDateTime),
        sa.Column("next_at", UTCDateTime),
        sa.Column("ended_at", UTCDateTime),
        sa.Column("because", ExactText(32)),
        sa.UniqueConstraint("requested_by", "idempotency_key", name="uq_bulk_plans_requested_by_idempotency_key"),
        **INNODB,
    )
    op.create_index("ix_bulk_plans_state_next_at", "bulk_plans", ["state", "next_at"])
    op.create_table(
        "bulk_groups",
        sa.Column("id", RowId, primary_key=True),
        sa.Column("plan_id", RowId, sa.ForeignKey("bulk_plans.id", name="fk_bulk_groups_plan_id"), nullable=False),
        sa.Column("tenant", ExactText(64), nullable=False),
        sa.Column("type", ExactText(64), nullable=False),
        sa.Column("destination", ExactText(64), nullable=False),
        sa.Column("state", ExactText(32), nullable=False),
        sa.Column("target", ExactText(32)),
        sa.Column("refusal", ExactText(64)),
        sa.Column("risk", ExactText(8), nullable=False),
        sa.Column("currency", ExactText(3)),
        sa.Column("size", sa.Integer, nullable=False),
        sa.Column("amount", ExactText(64)),
        **INNODB,
    )
    op.create_index("ix_bulk_groups_plan_id", "bulk_groups", ["plan_id"])
    op.create_table(
        "bulk_rows",
        sa.Column("id", RowId, primary_key=True),
        sa.Column("plan_id", RowId, sa.ForeignKey("bulk_plans.id", name="fk_bulk_rows_plan_id"), nullable=False),
        sa.Column(
            "operation_id", RowId, sa.ForeignKey("operations.id", name="fk_bulk_rows_operation_id"), nullable=False
        ),
        sa.Column("revision", sa.Integer, nullable=False),
        sa.Column("outcome", ExactText(16), nullable=False),
        sa.Column("code", ExactText(64)),
        sa.Column("amount", ExactText(32)),
        sa.Column("currency", ExactText(3)),
        sa.Column("action_id", RowId, sa.ForeignKey("actions.id", name="fk_bulk_rows_action_id")),
        sa.Column("changed_by", ExactText(254)),
        sa.Column("settled_at", UTCDateTime),
        sa.UniqueConstraint("plan_id", "operation_id", name="uq_bulk_rows_plan_id_operation_id"),
        **INNODB,
    )
    op.create_index("ix_bulk_rows_plan_id_outcome_id", "bulk_rows", ["plan_id", "outcome", "id"])
    op.create_index("ix_bulk_rows_operation_id", "bulk_rows", ["operation_id"])
    op.create_index("ix_bulk_rows_action_id", "bulk_rows", ["action_id"])
    op.create_table(
        "bulk_votes",
        sa.Column("id", RowId, primary_key=True),
        sa.Column("plan_id", RowId, sa.ForeignKey("bulk_plans.id", name="fk_bulk_votes_plan_id"), nullable=False),
        sa.Column("voter", ExactText(254), nullable=False),
        sa.Column("voter_kind", ExactText(16), nullable=False),
        sa.Column("vote", ExactText(16), nullable=False),
        sa.Column("note", LongText),
        sa.Column("binding", ExactText(64), nullable=False),
        sa.Column("idempotency_key", ExactText(128), nullable=False),
        sa.Column("at", UTCDateTime, nullable=False),
        sa.UniqueConstraint("plan_id", "voter", name="uq_bulk_votes_plan_id_voter"),
        **INNODB,
    )


def downgrade() -> None:
    for table in ("bulk_votes", "bulk_rows", "bulk_groups", "bulk_plans"):
        op.drop_table(table)
