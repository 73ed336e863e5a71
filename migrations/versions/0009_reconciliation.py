"""Reconciliation runs and what each look found."""

import sqlalchemy as sa
from alembic import op

from dashboard.db import ExactText, JSONColumn, UTCDateTime
from dashboard.models.record import INNODB, RowId

revision = "0009"
down_revision = "0008"

COUNTS = ("examined", "correct", "absent", "divergent", "ambiguous", "not_applicable", "acted", "skipped")


def upgrade() -> None:
    op.create_table(
        "reconciliation_runs",
        sa.Column("id", RowId, primary_key=True),
        sa.Column("state", ExactText(16), nullable=False),
        sa.Column("origin", ExactText(16), nullable=False),
        sa.Column("started_by", ExactText(254), nullable=False),
        sa.Column("observe", sa.Boolean, nullable=False),
        sa.Column("only_type", ExactText(64)),
        sa.Column("policy_hash", ExactText(64)),
        sa.Column("started_at", UTCDateTime, nullable=False),
        sa.Column("finished_at", UTCDateTime),
        *(sa.Column(name, sa.Integer, nullable=False, server_default="0") for name in COUNTS),
        sa.Column("digest", ExactText(64)),
        **INNODB,
    )
    op.create_table(
        "reconciliation_findings",
        sa.Column("id", RowId, primary_key=True),
        sa.Column(
            "run_id",
            RowId,
            sa.ForeignKey("reconciliation_runs.id", name="fk_reconciliation_findings_run_id"),
            nullable=False,
        ),
        sa.Column(
            "operation_id",
            RowId,
            sa.ForeignKey("operations.id", name="fk_reconciliation_findings_operation_id"),
            nullable=False,
        ),
        sa.Column("tenant", ExactText(64), nullable=False),
        sa.Column("type", ExactText(64), nullable=False),
        sa.Column("at", UTCDateTime, nullable=False),
        sa.Column("state", ExactText(24), nullable=False),
        sa.Column("attempts", sa.Integer, nullable=False),
        sa.Column("verdict", ExactText(24), nullable=False),
        sa.Column("response", ExactText(16), nullable=False),
        sa.Column("target", ExactText(24)),
        sa.Column("applied", sa.Boolean, nullable=False),
        sa.Column("reason", ExactText(48), nullable=False),
        sa.Column("evidence", JSONColumn),
        **INNODB,
    )
    op.create_index("ix_reconciliation_findings_run", "reconciliation_findings", ["run_id", "id"])
    op.create_index("ix_reconciliation_findings_at", "reconciliation_findings", ["at", "id"])
    op.create_index("ix_reconciliation_findings_operation", "reconciliation_findings", ["operation_id", "id"])


def downgrade() -> None:
    op.drop_table("reconciliation_findings")
    op.drop_table("reconciliation_runs")
