"""Operations, what happened to them, and the large things lists never read."""

from datetime import datetime
from typing import Any

from sqlalchemy import BigInteger, Computed, ForeignKey, Integer, LargeBinary, SmallInteger, UniqueConstraint
from sqlalchemy.dialects.mysql import LONGBLOB
from sqlalchemy.orm import Mapped, mapped_column

from dashboard.db import ExactText, JSONColumn, LongText, UTCDateTime
from dashboard.domain.states import OPEN, TERMINAL
from dashboard.models.record import INNODB, Record, RowId

OPEN_STATES_SQL = ", ".join(f"'{state.value}'" for state in sorted(OPEN))
IS_OPEN_SQL = f"CASE WHEN state IN ({OPEN_STATES_SQL}) THEN 1 END"
ENDED_STATES_SQL = ", ".join(f"'{state.value}'" for state in sorted(TERMINAL))
SETTLED_SINCE_SQL = (
    f"CASE WHEN state IN ({ENDED_STATES_SQL}) AND (purged_at IS NULL OR purged_at < state_since) THEN state_since END"
)

Bytes = LargeBinary().with_variant(LONGBLOB(), "mysql", "mariadb")


class Operation(Record):
    """One business intention with an effect outside; `is_open` is 1 while it is not terminal, else NULL.

    `settled_since` is its `state_since` from its end until its evidence is purged (`purged_at`), else NULL.
    """

    __tablename__ = "operations"

    id: Mapped[int] = mapped_column(RowId, primary_key=True)
    operation_id: Mapped[str] = mapped_column(ExactText(128), unique=True)
    tenant: Mapped[str] = mapped_column(ExactText(64))
    type: Mapped[str] = mapped_column(ExactText(64))
    entity_type: Mapped[str] = mapped_column(ExactText(64))
    entity_id: Mapped[str] = mapped_column(ExactText(128))
    expected_version: Mapped[int | None] = mapped_column(BigInteger)
    fingerprint: Mapped[str | None] = mapped_column(ExactText(64))
    expected: Mapped[dict[str, Any] | None] = mapped_column(JSONColumn)
    destination: Mapped[str] = mapped_column(ExactText(64))
    state: Mapped[str] = mapped_column(ExactText(24))
    is_open: Mapped[int | None] = mapped_column(SmallInteger, Computed(IS_OPEN_SQL, persisted=True))
    revision: Mapped[int] = mapped_column(Integer, default=1, server_default="1")
    attempts: Mapped[int] = mapped_column(Integer, default=0, server_default="0")
    next_attempt_at: Mapped[datetime | None] = mapped_column(UTCDateTime)
    deadline_at: Mapped[datetime] = mapped_column(UTCDateTime)
    lease_token: Mapped[str | None] = mapped_column(ExactText(64))
    lease_until: Mapped[datetime | None] = mapped_column(UTCDateTime)
    idempotency_key: Mapped[str | None] = mapped_column(ExactText(255))
    remote_id: Mapped[str | None] = mapped_column(ExactText(128))
    correlation_id: Mapped[str | None] = mapped_column(ExactText(128))
    amount: Mapped[str | None] = mapped_column(ExactText(32))
    currency: Mapped[str | None] = mapped_column(ExactText(3))
    cause: Mapped[str | None] = mapped_column(ExactText(24))
    verdict: Mapped[str | None] = mapped_column(ExactText(24))
    verdict_at: Mapped[datetime | None] = mapped_column(UTCDateTime)
    recommended_action: Mapped[str | None] = mapped_column(ExactText(24))
    parent_id: Mapped[int | None] = mapped_column(ForeignKey("operations.id"))
    assigned_to: Mapped[str | None] = mapped_column(ExactText(254))
    assigned_until: Mapped[datetime | None] = mapped_column(UTCDateTime)
    closed_reason: Mapped[str | None] = mapped_column(ExactText(24))
    created_at: Mapped[datetime] = mapped_column(UTCDateTime)
    state_since: Mapped[datetime] = mapped_column(UTCDateTime)
    updated_at: Mapped[datetime] = mapped_column(UTCDateTime)
    confirmed_at: Mapped[datetime | None] = mapped_column(UTCDateTime)
    purged_at: Mapped[datetime | None] = mapped_column(UTCDateTime)
    settled_since: Mapped[datetime | None] = mapped_column(UTCDateTime, Computed(SETTLED_SINCE_SQL, persisted=True))


class OperationEvent(Record):
    """What happened to an operation, in order; append-only. `operation_id` is the row's number."""

    __tablename__ = "operation_events"
    __table_args__ = (UniqueConstraint("operation_id", "seq"), INNODB)

    id: Mapped[int] = mapped_column(RowId, primary_key=True)
    operation_id: Mapped[int] = mapped_column(ForeignKey("operations.id"))
    seq: Mapped[int] = mapped_column(Integer)
    at: Mapped[datetime] = mapped_column(UTCDateTime)
    kind: Mapped[str] = mapped_column(ExactText(16))
    from_state: Mapped[str | None] = mapped_column(ExactText(24))
    to_state: Mapped[str | None] = mapped_column(ExactText(24))
    actor_kind: Mapped[str | None] = mapped_column(ExactText(16))
    actor_id: Mapped[str | None] = mapped_column(ExactText(254))
    cause: Mapped[str | None] = mapped_column(ExactText(24))
    reason: Mapped[str | None] = mapped_column(LongText)
    evidence: Mapped[dict[str, Any] | None] = mapped_column(JSONColumn)
    policy_hash: Mapped[str | None] = mapped_column(ExactText(64))
    run_id: Mapped[int | None] = mapped_column(BigInteger)


class OperationPayload(Record):
    """A body sent or received for an operation, as bytes, out of the way of every list."""

    __tablename__ = "operation_payloads"
    __table_args__ = (UniqueConstraint("operation_id", "kind"), INNODB)

    id: Mapped[int] = mapped_column(RowId, primary_key=True)
    operation_id: Mapped[int] = mapped_column(ForeignKey("operations.id"))
    kind: Mapped[str] = mapped_column(ExactText(16))
    content_type: Mapped[str | None] = mapped_column(ExactText(128))
    body: Mapped[bytes] = mapped_column(Bytes)
    created_at: Mapped[datetime] = mapped_column(UTCDateTime)
