"""Indexes of the audit log by time, so that a time, a person or a scope reads its own entries and no others.

Lists are ordered by time and number: at 300,000 entries the newest page of a small tenant read all of them before.
"""

from alembic import op

revision = "0029"
down_revision = "0028"

KEPT = ("actor_id", "action", "subject", "address")
SCOPES = {"tenant": ["tenant"], "type": ["type"], "scope": ["tenant", "type"]}


def upgrade() -> None:
    for column in KEPT:
        op.drop_index(f"ix_audit_log_{column}", "audit_log")
        op.create_index(f"ix_audit_log_{column}", "audit_log", [column, "at", "seq"])
    op.drop_index("ix_audit_log_tenant", "audit_log")
    for name, columns in SCOPES.items():
        op.create_index(f"ix_audit_log_{name}", "audit_log", [*columns, "at", "seq"])


def downgrade() -> None:
    for name in SCOPES:
        op.drop_index(f"ix_audit_log_{name}", "audit_log")
    op.create_index("ix_audit_log_tenant", "audit_log", ["tenant", "type", "seq"])
    for column in KEPT:
        op.drop_index(f"ix_audit_log_{column}", "audit_log")
        op.create_index(f"ix_audit_log_{column}", "audit_log", [column, "seq"])
