"""Versions of an entity in order: the open ones, and those newer than a given one, without reading its history."""

from alembic import op

from dashboard import ddl

revision = "0013"
down_revision = "0012"

# The whole entity leads, so that SQLite, which keeps no statistics by itself, prefers this index to that of history.
OPEN_KEYS = ("entity_id", "entity_type", "type", "tenant", "expected_version")


def upgrade() -> None:
    ddl.create_marked_index("ix_operations_open_entity", "operations", OPEN_KEYS)
    op.create_index("ix_operations_entity", "operations", ["entity_id", "expected_version"])
    op.drop_index("ix_operations_entity_id", "operations")


def downgrade() -> None:
    op.create_index("ix_operations_entity_id", "operations", ["entity_id"])
    op.drop_index("ix_operations_entity", "operations")
    op.drop_index("ix_operations_open_entity", "operations")
