"""Open work as it was counted a little while ago, a row a tenant."""

import sqlalchemy as sa
from alembic import op

from dashboard.db import ExactText, JSONColumn, UTCDateTime
from dashboard.models.record import INNODB

revision = "0039"
down_revision = "0038"


def upgrade() -> None:
    op.create_table(
        "open_snapshots",
        sa.Column("tenant", ExactText(64), nullable=False),
        sa.Column("taken_at", UTCDateTime, nullable=False),
        sa.Column("figures", JSONColumn, nullable=False),
        sa.PrimaryKeyConstraint("tenant", name="pk_open_snapshots"),
        **INNODB,
    )


def downgrade() -> None:
    op.drop_table("open_snapshots")
