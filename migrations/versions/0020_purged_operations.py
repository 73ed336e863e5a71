"""When the evidence of an ended operation was purged, and an index over ended operations that still have theirs.

`settled_since` is NULL while an operation is open, so the index costs nothing on the way there.
"""

import sqlalchemy as sa
from alembic import op

from dashboard import ddl
from dashboard.db import UTCDateTime

revision = "0020"
down_revision = "0019"

TABLE = "operations"
INDEX = "ix_operations_settled"
ENDED = "state IN ('compensated', 'confirmed', 'not_applicable')"
# One that was reopened and ended again after it was purged has new evidence.
SETTLED_SINCE = f"CASE WHEN {ENDED} AND (purged_at IS NULL OR purged_at < state_since) THEN state_since END"


def upgrade() -> None:
    op.add_column(TABLE, sa.Column("purged_at", UTCDateTime))
    op.add_column(TABLE, sa.Column("settled_since", UTCDateTime, sa.Computed(SETTLED_SINCE, persisted=ddl.stored())))
    some = sa.text("settled_since IS NOT NULL")
    op.create_index(INDEX, TABLE, ["type", "settled_since", "id"], postgresql_where=some, sqlite_where=some)


def downgrade() -> None:
    op.drop_index(INDEX, TABLE)
    op.drop_column(TABLE, "settled_since")
    op.drop_column(TABLE, "purged_at")
