"""Two indexes in place of one for what retention takes: records by expiry, and those that name none by operation.

The one before held both and gave neither in order, so that MariaDB sorted all that was due again for each batch.
"""

import sqlalchemy as sa
from alembic import op

from dashboard import ddl

revision = "0033"
down_revision = "0032"

TABLE = "idempotency_records"
LASTING = "CASE WHEN state IN ('completed', 'failed') AND purged_at IS NULL AND expires_at IS NULL THEN 1 END"


def upgrade() -> None:
    op.drop_index(f"ix_{TABLE}_kept", TABLE)
    ddl.create_marked_index(f"ix_{TABLE}_kept", TABLE, ["expires_at", "id"], mark="kept")
    op.add_column(TABLE, sa.Column("lasting", sa.SmallInteger, sa.Computed(LASTING, persisted=ddl.stored())))
    ddl.create_marked_index(f"ix_{TABLE}_lasting", TABLE, ["operation", "completed_at", "id"], mark="lasting")


def downgrade() -> None:
    op.drop_index(f"ix_{TABLE}_lasting", TABLE)
    op.drop_column(TABLE, "lasting")
    op.drop_index(f"ix_{TABLE}_kept", TABLE)
    ddl.create_marked_index(f"ix_{TABLE}_kept", TABLE, ["expires_at", "operation", "completed_at", "id"], mark="kept")
