"""How many attempts in a row a destination left unanswered, and until when it is left alone."""

import sqlalchemy as sa
from alembic import op

from dashboard.db import UTCDateTime

revision = "0014"
down_revision = "0013"


def upgrade() -> None:
    op.add_column("destination_budgets", sa.Column("failures", sa.Integer, nullable=False, server_default="0"))
    op.add_column("destination_budgets", sa.Column("paused_until", UTCDateTime))


def downgrade() -> None:
    with op.batch_alter_table("destination_budgets") as table:
        table.drop_column("paused_until")
        table.drop_column("failures")
