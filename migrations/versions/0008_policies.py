"""Each version of the policy file that was in force."""

import sqlalchemy as sa
from alembic import op

from dashboard.db import ExactText, LongText, UTCDateTime
from dashboard.models.record import INNODB

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    op.create_table(
        "policies",
        sa.Column("hash", ExactText(64), primary_key=True),
        sa.Column("content", LongText, nullable=False),
        sa.Column("first_seen_at", UTCDateTime, nullable=False),
        **INNODB,
    )


def downgrade() -> None:
    op.drop_table("policies")
