"""When a piece of the engine last went through all it has to do."""

import sqlalchemy as sa
from alembic import op

from dashboard.db import ExactText, UTCDateTime
from dashboard.models.record import INNODB

revision = "0038"
down_revision = "0037"


def upgrade() -> None:
    op.create_table(
        "heartbeats",
        sa.Column("name", ExactText(32), primary_key=True),
        sa.Column("at", UTCDateTime, nullable=False),
        **INNODB,
    )


def downgrade() -> None:
    op.drop_table("heartbeats")
