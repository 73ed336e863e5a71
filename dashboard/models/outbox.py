"""Outbox messages: something to publish, written in the transaction of the change it announces."""

from datetime import datetime
from typing import Any

from sqlalchemy import Computed, ForeignKey, Integer, SmallInteger, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from dashboard.db import ExactText, JSONColumn, LongText, UTCDateTime
from dashboard.models.record import INNODB, Record, RowId

UNSENT_SQL = "CASE WHEN state = 'pending' THEN 1 END"


class OutboxMessage(Record):
    """A message and how far it got: `pending`, `published`, `dead` or `discarded`.

    Messages of one `aggregate_key` are published in the order of their ids; a dead one blocks its key until
    somebody redrives or discards it. `payload` is the JSON text that is published, byte for byte.
    """

    __tablename__ = "outbox_messages"

    id: Mapped[int] = mapped_column(RowId, primary_key=True)
    message_id: Mapped[str] = mapped_column(ExactText(64), unique=True)
    tenant: Mapped[str] = mapped_column(ExactText(64))
    type: Mapped[str] = mapped_column(ExactText(64))
    sink: Mapped[str] = mapped_column(ExactText(64))
    topic: Mapped[str] = mapped_column(ExactText(128))
    aggregate_key: Mapped[str] = mapped_column(ExactText(255))
    operation_id: Mapped[int | None] = mapped_column(ForeignKey("operations.id"))
    payload: Mapped[str] = mapped_column(LongText)
    headers: Mapped[dict[str, Any] | None] = mapped_column(JSONColumn)
    state: Mapped[str] = mapped_column(ExactText(16))
    is_open: Mapped[int | None] = mapped_column(SmallInteger, Computed(UNSENT_SQL, persisted=True))
    claims: Mapped[int] = mapped_column(Integer, default=0, server_default="0")
    next_attempt_at: Mapped[datetime] = mapped_column(UTCDateTime)
    lease_token: Mapped[str | None] = mapped_column(ExactText(64))
    lease_until: Mapped[datetime | None] = mapped_column(UTCDateTime)
    last_error: Mapped[str | None] = mapped_column(LongText)
    created_at: Mapped[datetime] = mapped_column(UTCDateTime)
    published_at: Mapped[datetime | None] = mapped_column(UTCDateTime)


class OutboxDecision(Record):
    """What a person decided about a dead letter (`redrive` or `discard`), on what evidence.

    `outbox_message_id` is the row's number; `claims` and `last_error` are what the person saw.
    """

    __tablename__ = "outbox_decisions"
    __table_args__ = (UniqueConstraint("requested_by", "idempotency_key"), INNODB)

    id: Mapped[int] = mapped_column(RowId, primary_key=True)
    outbox_message_id: Mapped[int] = mapped_column(ForeignKey("outbox_messages.id"), index=True)
    decision: Mapped[str] = mapped_column(ExactText(16))
    idempotency_key: Mapped[str] = mapped_column(ExactText(128))
    note: Mapped[str] = mapped_column(LongText)
    reference: Mapped[str | None] = mapped_column(LongText)
    claims: Mapped[int] = mapped_column(Integer)
    last_error: Mapped[str | None] = mapped_column(LongText)
    requested_by: Mapped[str] = mapped_column(ExactText(254))
    requested_at: Mapped[datetime] = mapped_column(UTCDateTime)


class AwaySink(Record):
    """A sink that does not take messages at the moment: it is left alone until `retry_at`, then one message asks."""

    __tablename__ = "away_sinks"

    sink: Mapped[str] = mapped_column(ExactText(64), primary_key=True)
    failures: Mapped[int] = mapped_column(Integer)
    since: Mapped[datetime] = mapped_column(UTCDateTime)
    retry_at: Mapped[datetime] = mapped_column(UTCDateTime)
    last_error: Mapped[str] = mapped_column(LongText)
