"""Indexes for the filters of history that read all of it without one: destination, cause, who it is assigned to.

Measured at 288,000 operations on SQLite: 1.5 to 1.9 s before, as fast as tenant and type after.
"""

from alembic import op

revision = "0018"
down_revision = "0017"


def upgrade() -> None:
    for column in ("destination", "cause", "assigned_to"):
        op.create_index(f"ix_operations_{column}", "operations", [column, "created_at", "id"])


def downgrade() -> None:
    for column in ("destination", "cause", "assigned_to"):
        op.drop_index(f"ix_operations_{column}", "operations")
