"""Runs by state, so that every pass finds the ones whose process is gone without reading all that ended."""

from alembic import op

revision = "0016"
down_revision = "0015"


def upgrade() -> None:
    op.create_index("ix_reconciliation_runs_state", "reconciliation_runs", ["state", "id"])


def downgrade() -> None:
    op.drop_index("ix_reconciliation_runs_state", table_name="reconciliation_runs")
