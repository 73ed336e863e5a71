"""What a proposed action needs before it is executed, how it ended, and when its effect was graded."""

import sqlalchemy as sa
from alembic import op

from dashboard.db import ExactText, UTCDateTime

revision = "0021"
down_revision = "0020"

COLUMNS = (
    "amount",
    "needed",
    "special",
    "binding",
    "expires_at",
    "ended_at",
    "ended_because",
    "verified_at",
    "notified_at",
)


def upgrade() -> None:
    op.add_column("actions", sa.Column("amount", ExactText(32)))
    op.add_column("actions", sa.Column("needed", sa.SmallInteger, nullable=False, server_default="0"))
    op.add_column("actions", sa.Column("special", ExactText(64), nullable=False, server_default=""))
    op.add_column("actions", sa.Column("binding", ExactText(64)))
    op.add_column("actions", sa.Column("expires_at", UTCDateTime))
    op.add_column("actions", sa.Column("ended_at", UTCDateTime))
    op.add_column("actions", sa.Column("ended_because", ExactText(32)))
    op.add_column("actions", sa.Column("verified_at", UTCDateTime))
    op.add_column("actions", sa.Column("notified_at", UTCDateTime))


def downgrade() -> None:
    for column in COLUMNS:
        op.drop_column("actions", column)
