"""Outbox messages: something to publish, written in the transaction of the change it announces."""

from datetime import datetime
from typing import Any

from sqlalchemy import Computed, ForeignKey, Integer, SmallInteger
from sqlalchemy.orm import Mapped, mapped_column

from dashboard.db import ExactText, JSONColumn, LongText, UTCDateTime
from dashboard.models.record import Record, RowId

UNSENT_SQL = "CASE WHEN state = 'pending' THEN 1 END"


class OutboxMessage(Record):
    """A message and how far it got: `pending`, `published` or `dead`.

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
