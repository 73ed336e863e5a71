"""Actions by the time they were asked for: a report reads one month, and no other."""

from alembic import op

revision = "0030"
down_revision = "0029"


def upgrade() -> None:
    op.create_index("ix_actions_requested_at", "actions", ["requested_at", "id"])


def downgrade() -> None:
    op.drop_index("ix_actions_requested_at", "actions")
