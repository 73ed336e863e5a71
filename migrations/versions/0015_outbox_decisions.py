"""Dead letters that people decide about, and sinks that are away."""

import sqlalchemy as sa
from alembic import op

from dashboard import ddl
from dashboard.db import ExactText, LongText, UTCDateTime
from dashboard.models.record import INNODB, RowId

revision = "0015"
down_revision = "0014"

STATES = "state IN ('pending', 'published', 'dead')"
STATES_WITH_DISCARDED = "state IN ('pending', 'published', 'dead', 'discarded')"
IS_OPEN = "CASE WHEN state = 'pending' THEN 1 END"
MARKED_INDEXES = {
    "ix_outbox_messages_open_next": ["next_attempt_at", "id"],
    "ix_outbox_messages_open_key": ["sink", "aggregate_key", "id"],
}


def upgrade() -> None:
    _check_states(STATES_WITH_DISCARDED)
    op.create_table(
        "outbox_decisions",
        sa.Column("id", RowId, primary_key=True),
        sa.Column(
            "outbox_message_id",
            RowId,
            sa.ForeignKey("outbox_messages.id", name="fk_outbox_decisions_outbox_message_id"),
            nullable=False,
        ),
        sa.Column("decision", ExactText(16), nullable=False),
        sa.Column("idempotency_key", ExactText(128), nullable=False),
        sa.Column("note", LongText, nullable=False),
        sa.Column("reference", LongText),
        sa.Column("claims", sa.Integer, nullable=False),
        sa.Column("last_error", LongText),
        sa.Column("requested_by", ExactText(254), nullable=False),
        sa.Column("requested_at", UTCDateTime, nullable=False),
        sa.UniqueConstraint("requested_by", "idempotency_key", name="uq_outbox_decisions_requested_by_idempotency_key"),
        sa.CheckConstraint("decision IN ('redrive', 'discard')", name="decision_known"),
        **INNODB,
    )
    op.create_index("ix_outbox_decisions_outbox_message_id", "outbox_decisions", ["outbox_message_id"])
    op.create_table(
        "away_sinks",
        sa.Column("sink", ExactText(64), primary_key=True),
        sa.Column("failures", sa.Integer, nullable=False),
        sa.Column("since", UTCDateTime, nullable=False),
        sa.Column("retry_at", UTCDateTime, nullable=False),
        sa.Column("last_error", LongText, nullable=False),
        **INNODB,
    )


def downgrade() -> None:
    op.drop_table("away_sinks")
    op.drop_table("outbox_decisions")
    op.execute("UPDATE outbox_messages SET state = 'dead' WHERE state = 'discarded'")
    _check_states(STATES)


def _check_states(condition: str) -> None:
    """Change the check; SQLite copies the table for that, which takes no generated column and no index over it."""
    copied = ddl.dialect() == "sqlite"
    if copied:
        for name in MARKED_INDEXES:
            op.drop_index(name, "outbox_messages")
        op.execute("ALTER TABLE outbox_messages DROP COLUMN is_open")
    with op.batch_alter_table("outbox_messages") as table:
        table.drop_constraint("state_known", type_="check")
        table.create_check_constraint("state_known", condition)
    if copied:
        op.add_column("outbox_messages", sa.Column("is_open", sa.SmallInteger, sa.Computed(IS_OPEN, persisted=False)))
        for name, keys in MARKED_INDEXES.items():
            ddl.create_marked_index(name, "outbox_messages", keys)
