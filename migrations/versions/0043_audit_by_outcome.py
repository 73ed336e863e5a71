"""An index for the audit entries of one outcome: refused attempts are rare among what was done.

Measured at 122,000 entries on PostgreSQL, one in seven refused: 33 ms to count 10,000 of them, since the others were
read as well.
"""

from alembic import op

revision = "0043"
down_revision = "0042"


def upgrade() -> None:
    op.create_index("ix_audit_log_outcome", "audit_log", ["outcome", "at", "seq"])


def downgrade() -> None:
    op.drop_index("ix_audit_log_outcome", "audit_log")
