"""When the answer under a key was purged, and an index over settled records whose answer is still kept.

The index leads to what is due to go without reading what has gone before.
"""

import sqlalchemy as sa
from alembic import op

from dashboard import ddl
from dashboard.db import UTCDateTime

revision = "0019"
down_revision = "0018"

TABLE = "idempotency_records"
INDEX = "ix_idempotency_records_kept"
KEPT = "CASE WHEN state IN ('completed', 'failed') AND purged_at IS NULL THEN 1 END"


def upgrade() -> None:
    op.add_column(TABLE, sa.Column("purged_at", UTCDateTime))
    op.add_column(TABLE, sa.Column("kept", sa.SmallInteger, sa.Computed(KEPT, persisted=ddl.stored())))
    ddl.create_marked_index(INDEX, TABLE, ["expires_at", "operation", "completed_at", "id"], mark="kept")


def downgrade() -> None:
    op.drop_index(INDEX, TABLE)
    op.drop_column(TABLE, "kept")
    op.drop_column(TABLE, "purged_at")
