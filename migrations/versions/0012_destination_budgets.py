"""How many retries went to a destination in the current minute."""

import sqlalchemy as sa
from alembic import op

from dashboard.db import ExactText, UTCDateTime
from dashboard.models.record import INNODB

revision = "0012"
down_revision = "0011"


def upgrade() -> None:
    op.create_table(
        "destination_budgets",
        sa.Column("destination", ExactText(64), primary_key=True),
        sa.Column("minute", UTCDateTime, nullable=False),
        sa.Column("used", sa.Integer, nullable=False),
        **INNODB,
    )


def downgrade() -> None:
    op.drop_table("destination_budgets")
