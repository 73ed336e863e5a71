"""When the people who can approve a plan were told of it."""

import sqlalchemy as sa
from alembic import op

from dashboard.db import UTCDateTime

revision = "0035"
down_revision = "0034"


def upgrade() -> None:
    op.add_column("bulk_plans", sa.Column("notified_at", UTCDateTime))


def downgrade() -> None:
    op.drop_column("bulk_plans", "notified_at")
