"""Idempotency records, with indexes over the unsettled and the conflicted."""

import sqlalchemy as sa
from alembic import op

from dashboard import ddl
from dashboard.db import ExactText, JSONColumn, UTCDateTime
from dashboard.models.operations import Bytes
from dashboard.models.record import INNODB, RowId

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    op.create_table(
        "idempotency_records",
        sa.Column("id", RowId, primary_key=True),
        sa.Column("tenant", ExactText(64), nullable=False),
        sa.Column("operation", ExactText(64), nullable=False),
        sa.Column("key", ExactText(255), nullable=False),
        sa.Column("fingerprint", ExactText(64), nullable=False),
        sa.Column("fingerprint_version", sa.SmallInteger, nullable=False, server_default="1"),
        sa.Column("field_digests", JSONColumn),
        sa.Column("state", ExactText(16), nullable=False),
        _mark("is_open", "state IN ('processing', 'pending')"),
        sa.Column("owner_token", ExactText(64)),
        sa.Column("lease_until", UTCDateTime, nullable=False),
        sa.Column("response_status", sa.SmallInteger),
        sa.Column("response_headers", JSONColumn),
        sa.Column("response_body", Bytes),
        sa.Column("resource_ids", JSONColumn),
        sa.Column("correlation_id", ExactText(128)),
        sa.Column("external_reference", ExactText(128)),
        sa.Column("operation_id", ExactText(128)),
        sa.Column("replay_count", sa.Integer, nullable=False, server_default="0"),
        sa.Column("conflict_count", sa.Integer, nullable=False, server_default="0"),
        _mark("conflicted", "conflict_count > 0"),
        sa.Column("last_conflict_at", UTCDateTime),
        sa.Column("created_at", UTCDateTime, nullable=False),
        sa.Column("updated_at", UTCDateTime, nullable=False),
        sa.Column("completed_at", UTCDateTime),
        sa.Column("expires_at", UTCDateTime),
        sa.UniqueConstraint("tenant", "operation", "key", name="uq_idempotency_records_tenant_operation_key"),
        sa.CheckConstraint("state IN ('processing', 'pending', 'completed', 'failed')", name="state_known"),
        **INNODB,
    )
    for mark in ("is_open", "conflicted"):
        ddl.create_marked_index(
            f"ix_idempotency_records_{mark}",
            "idempotency_records",
            ["created_at", "id"],
            mark=mark,
            covered=("state", "tenant", "operation"),
        )
    op.create_index("ix_idempotency_records_created", "idempotency_records", ["created_at", "id"])
    op.create_index("ix_idempotency_records_key", "idempotency_records", ["key"])
    op.create_index("ix_idempotency_records_operation_id", "idempotency_records", ["operation_id"])


def _mark(name: str, condition: str) -> sa.Column[int]:
    return sa.Column(name, sa.SmallInteger, sa.Computed(f"CASE WHEN {condition} THEN 1 END", persisted=ddl.stored()))


def downgrade() -> None:
    op.drop_table("idempotency_records")
