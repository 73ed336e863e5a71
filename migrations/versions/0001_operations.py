"""Operations, with the indexes over open rows and the look-ups by identity."""

import sqlalchemy as sa
from alembic import op

from dashboard import ddl
from dashboard.db import ExactText, JSONColumn, UTCDateTime
from dashboard.models.record import INNODB, RowId

revision = "0001"
down_revision = None

STATES = (
    "'pending', 'processing', 'retry_scheduled', 'awaiting_confirmation', 'manual_review', "
    "'confirmed', 'compensated', 'not_applicable'"
)
OPEN = "'awaiting_confirmation', 'manual_review', 'pending', 'processing', 'retry_scheduled'"
FILTERS = ("state", "type", "tenant", "destination", "created_at", "deadline_at", "id")


def upgrade() -> None:
    op.create_table(
        "operations",
        sa.Column("id", RowId, primary_key=True),
        sa.Column("operation_id", ExactText(128), nullable=False),
        sa.Column("tenant", ExactText(64), nullable=False),
        sa.Column("type", ExactText(64), nullable=False),
        sa.Column("entity_type", ExactText(64), nullable=False),
        sa.Column("entity_id", ExactText(128), nullable=False),
        sa.Column("expected_version", sa.BigInteger),
        sa.Column("fingerprint", ExactText(64)),
        sa.Column("expected", JSONColumn),
        sa.Column("destination", ExactText(64), nullable=False),
        sa.Column("state", ExactText(24), nullable=False),
        sa.Column(
            "is_open",
            sa.SmallInteger,
            sa.Computed(f"CASE WHEN state IN ({OPEN}) THEN 1 END", persisted=ddl.stored()),
        ),
        sa.Column("revision", sa.Integer, nullable=False, server_default="1"),
        sa.Column("attempts", sa.Integer, nullable=False, server_default="0"),
        sa.Column("next_attempt_at", UTCDateTime),
        sa.Column("deadline_at", UTCDateTime, nullable=False),
        sa.Column("lease_token", ExactText(64)),
        sa.Column("lease_until", UTCDateTime),
        sa.Column("idempotency_key", ExactText(255)),
        sa.Column("remote_id", ExactText(128)),
        sa.Column("correlation_id", ExactText(128)),
        sa.Column("amount", ExactText(32)),
        sa.Column("currency", ExactText(3)),
        sa.Column("cause", ExactText(24)),
        sa.Column("verdict", ExactText(24)),
        sa.Column("verdict_at", UTCDateTime),
        sa.Column("recommended_action", ExactText(24)),
        sa.Column("parent_id", RowId, sa.ForeignKey("operations.id", name="fk_operations_parent_id")),
        sa.Column("assigned_to", ExactText(254)),
        sa.Column("assigned_until", UTCDateTime),
        sa.Column("closed_reason", ExactText(24)),
        sa.Column("created_at", UTCDateTime, nullable=False),
        sa.Column("state_since", UTCDateTime, nullable=False),
        sa.Column("updated_at", UTCDateTime, nullable=False),
        sa.Column("confirmed_at", UTCDateTime),
        sa.UniqueConstraint("operation_id", name="uq_operations_operation_id"),
        sa.CheckConstraint(ddl.operation_id_check("operation_id"), name="operation_id_valid"),
        sa.CheckConstraint(f"state IN ({STATES})", name="state_known"),
        sa.CheckConstraint(f"amount IS NULL OR ({ddl.decimal_check('amount')})", name="amount_decimal"),
        sa.CheckConstraint("(amount IS NULL) = (currency IS NULL)", name="amount_with_currency"),
        **INNODB,
    )
    _index_open_rows()
    _index_history()
    _index_identities()


def _index_open_rows() -> None:
    ddl.create_marked_index("ix_operations_open_created", "operations", ["created_at", "id"], covered=FILTERS)
    ddl.create_marked_index("ix_operations_open_deadline", "operations", ["deadline_at", "id"], covered=FILTERS)
    ddl.create_marked_index("ix_operations_open_next", "operations", ["next_attempt_at", "id"], covered=FILTERS)
    ddl.create_marked_index("ix_operations_open_tenant", "operations", ["tenant", "created_at", "id"], covered=FILTERS)
    ddl.create_marked_index("ix_operations_open_type", "operations", ["type", "created_at", "id"], covered=FILTERS)
    ddl.create_marked_index("ix_operations_open_state", "operations", ["state", "created_at", "id"], covered=FILTERS)


def _index_history() -> None:
    for column in ("tenant", "type", "state"):
        op.create_index(f"ix_operations_{column}", "operations", [column, "created_at", "id"])
    op.create_index("ix_operations_created", "operations", ["created_at", "id"])
    scope = ("tenant", "type")
    ddl.create_covering_index("ix_operations_verdict", "operations", ["verdict", "created_at", "id"], covered=scope)
    ddl.create_covering_index(
        "ix_operations_confirmed", "operations", ["confirmed_at", "id"], covered=(*scope, "state", "created_at")
    )


def _index_identities() -> None:
    for column in ("idempotency_key", "remote_id", "entity_id", "correlation_id", "parent_id"):
        op.create_index(f"ix_operations_{column}", "operations", [column])


def downgrade() -> None:
    op.drop_table("operations")
