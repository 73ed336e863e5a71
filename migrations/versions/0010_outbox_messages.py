"""Messages to publish, with an index over those that are not published yet."""

import sqlalchemy as sa
from alembic import op

from dashboard import ddl
from dashboard.db import ExactText, JSONColumn, LongText, UTCDateTime
from dashboard.models.record import INNODB, RowId

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    op.create_table(
        "outbox_messages",
        sa.Column("id", RowId, primary_key=True),
        sa.Column("message_id", ExactText(64), nullable=False),
        sa.Column("tenant", ExactText(64), nullable=False),
        sa.Column("type", ExactText(64), nullable=False),
        sa.Column("sink", ExactText(64), nullable=False),
        sa.Column("topic", ExactText(128), nullable=False),
        sa.Column("aggregate_key", ExactText(255), nullable=False),
        sa.Column("operation_id", RowId, sa.ForeignKey("operations.id", name="fk_outbox_messages_operation_id")),
        sa.Column("payload", LongText, nullable=False),
        sa.Column("headers", JSONColumn),
        sa.Column("state", ExactText(16), nullable=False),
        sa.Column(
            "is_open",
            sa.SmallInteger,
            sa.Computed("CASE WHEN state = 'pending' THEN 1 END", persisted=ddl.stored()),
        ),
        sa.Column("claims", sa.Integer, nullable=False, server_default="0"),
        sa.Column("next_attempt_at", UTCDateTime, nullable=False),
        sa.Column("lease_token", ExactText(64)),
        sa.Column("lease_until", UTCDateTime),
        sa.Column("last_error", LongText),
        sa.Column("created_at", UTCDateTime, nullable=False),
        sa.Column("published_at", UTCDateTime),
        sa.UniqueConstraint("message_id", name="uq_outbox_messages_message_id"),
        sa.CheckConstraint("state IN ('pending', 'published', 'dead')", name="state_known"),
        **INNODB,
    )
    ddl.create_marked_index("ix_outbox_messages_open_next", "outbox_messages", ["next_attempt_at", "id"])
    ddl.create_marked_index("ix_outbox_messages_open_key", "outbox_messages", ["sink", "aggregate_key", "id"])
    op.create_index("ix_outbox_messages_state", "outbox_messages", ["state", "id"])
    op.create_index("ix_outbox_messages_key", "outbox_messages", ["sink", "aggregate_key", "state", "id"])


def downgrade() -> None:
    op.drop_table("outbox_messages")
