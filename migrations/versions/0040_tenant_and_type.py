"""An index for the history of one type of one tenant, which both names and a person's grants ask for together.

Measured at 100,000 operations on SQLite: 98 ms for the page of a rare tenant and a common type, 0.02 ms after. The
others read all of the rarer of the two, which grows with history as well where their common rows are few.
"""

from alembic import op

revision = "0040"
down_revision = "0039"


def upgrade() -> None:
    op.create_index("ix_operations_tenant_type", "operations", ["tenant", "type", "created_at", "id"])


def downgrade() -> None:
    op.drop_index("ix_operations_tenant_type", "operations")
