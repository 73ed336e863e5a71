"""Indexes for what is rare among idempotency records: replayed ones, failed ones, and those of a rare operation.

Measured at 500,000 records on PostgreSQL: 220 to 310 ms before, each reading all of history; 1 to 16 ms after.
"""

import sqlalchemy as sa
from alembic import op

from dashboard import ddl

revision = "0031"
down_revision = "0030"

TABLE = "idempotency_records"
MARKS = {"replayed": "replay_count > 0", "failed": "state = 'failed'"}


def upgrade() -> None:
    for name, condition in MARKS.items():
        rule = sa.Computed(f"CASE WHEN {condition} THEN 1 END", persisted=ddl.stored())
        op.add_column(TABLE, sa.Column(name, sa.SmallInteger, rule))
        ddl.create_marked_index(
            f"ix_{TABLE}_{name}", TABLE, ["created_at", "id"], mark=name, covered=("tenant", "operation")
        )
    op.create_index(f"ix_{TABLE}_operation", TABLE, ["operation", "created_at", "id"])


def downgrade() -> None:
    op.drop_index(f"ix_{TABLE}_operation", TABLE)
    for name in reversed(MARKS):
        op.drop_index(f"ix_{TABLE}_{name}", TABLE)
        op.drop_column(TABLE, name)
