"""Indexes for the actions that a person of few grants may see, newest first.

Measured at 105,000 actions on PostgreSQL, a tenant with two of them: 88 ms for the page, since all were read.
"""

from alembic import op

revision = "0041"
down_revision = "0040"

INDEXES = {
    "ix_actions_scope": ["tenant", "type", "id"],
    "ix_actions_tenant": ["tenant", "id"],
    "ix_actions_type": ["type", "id"],
}


def upgrade() -> None:
    for name, columns in INDEXES.items():
        op.create_index(name, "actions", columns)


def downgrade() -> None:
    for name in INDEXES:
        op.drop_index(name, "actions")
