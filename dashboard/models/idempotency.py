"""Idempotency records: one request key, what it may do, and the answer it got."""

from datetime import datetime
from typing import Any

from sqlalchemy import Computed, ForeignKey, Index, Integer, SmallInteger, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from dashboard.db import ExactText, JSONColumn, UTCDateTime
from dashboard.models.operations import Bytes
from dashboard.models.record import INNODB, Record, RowId

UNSETTLED_SQL = "CASE WHEN state IN ('processing', 'pending') THEN 1 END"
CONFLICTED_SQL = "CASE WHEN conflict_count > 0 THEN 1 END"
REPLAYED_SQL = "CASE WHEN replay_count > 0 THEN 1 END"
FAILED_SQL = "CASE WHEN state = 'failed' THEN 1 END"
KEPT_SQL = "CASE WHEN state IN ('completed', 'failed') AND purged_at IS NULL THEN 1 END"
LASTING_SQL = "CASE WHEN state IN ('completed', 'failed') AND purged_at IS NULL AND expires_at IS NULL THEN 1 END"


class IdempotencyRecord(Record):
    """A request key in its scope; generated columns mark what lists look for.

    `is_open` is 1 until the outcome is known; `conflicted` is 1 once another body came under the key;
    `kept` is 1 from then until its answer is purged. What is left then is a tombstone: no body, no headers, no
    digests, but the fingerprint, state and times that keep a late repeat from being new.
    """

    __tablename__ = "idempotency_records"
    __table_args__ = (UniqueConstraint("tenant", "operation", "key"), INNODB)

    id: Mapped[int] = mapped_column(RowId, primary_key=True)
    tenant: Mapped[str] = mapped_column(ExactText(64))
    operation: Mapped[str] = mapped_column(ExactText(64))
    key: Mapped[str] = mapped_column(ExactText(255))
    fingerprint: Mapped[str] = mapped_column(ExactText(64))
    fingerprint_version: Mapped[int] = mapped_column(SmallInteger, default=1, server_default="1")
    field_digests: Mapped[dict[str, str] | None] = mapped_column(JSONColumn)
    state: Mapped[str] = mapped_column(ExactText(16))
    is_open: Mapped[int | None] = mapped_column(SmallInteger, Computed(UNSETTLED_SQL, persisted=True))
    owner_token: Mapped[str | None] = mapped_column(ExactText(64))
    lease_until: Mapped[datetime] = mapped_column(UTCDateTime)
    response_status: Mapped[int | None] = mapped_column(SmallInteger)
    response_headers: Mapped[list[Any] | None] = mapped_column(JSONColumn)
    response_body: Mapped[bytes | None] = mapped_column(Bytes)
    resource_ids: Mapped[list[Any] | None] = mapped_column(JSONColumn)
    correlation_id: Mapped[str | None] = mapped_column(ExactText(128))
    external_reference: Mapped[str | None] = mapped_column(ExactText(128))
    operation_id: Mapped[str | None] = mapped_column(ExactText(128))
    replay_count: Mapped[int] = mapped_column(Integer, default=0, server_default="0")
    conflict_count: Mapped[int] = mapped_column(Integer, default=0, server_default="0")
    conflicted: Mapped[int | None] = mapped_column(SmallInteger, Computed(CONFLICTED_SQL, persisted=True))
    last_conflict_at: Mapped[datetime | None] = mapped_column(UTCDateTime)
    created_at: Mapped[datetime] = mapped_column(UTCDateTime)
    updated_at: Mapped[datetime] = mapped_column(UTCDateTime)
    completed_at: Mapped[datetime | None] = mapped_column(UTCDateTime)
    expires_at: Mapped[datetime | None] = mapped_column(UTCDateTime)
    purged_at: Mapped[datetime | None] = mapped_column(UTCDateTime)
    kept: Mapped[int | None] = mapped_column(SmallInteger, Computed(KEPT_SQL, persisted=True))
    lasting: Mapped[int | None] = mapped_column(SmallInteger, Computed(LASTING_SQL, persisted=True))
    replayed: Mapped[int | None] = mapped_column(SmallInteger, Computed(REPLAYED_SQL, persisted=True))
    failed: Mapped[int | None] = mapped_column(SmallInteger, Computed(FAILED_SQL, persisted=True))


class IdempotencyConflict(Record):
    """Other content that came under a key; `fields` names what differed, never a value."""

    __tablename__ = "idempotency_conflicts"
    __table_args__ = (Index("ix_idempotency_conflicts_record", "record_id", "at", "id"), INNODB)

    id: Mapped[int] = mapped_column(RowId, primary_key=True)
    record_id: Mapped[int] = mapped_column(RowId, ForeignKey("idempotency_records.id", ondelete="CASCADE"))
    at: Mapped[datetime] = mapped_column(UTCDateTime)
    fingerprint: Mapped[str] = mapped_column(ExactText(64))
    fields: Mapped[list[str] | None] = mapped_column(JSONColumn)
    actor_id: Mapped[str | None] = mapped_column(ExactText(254))
    correlation_id: Mapped[str | None] = mapped_column(ExactText(128))
