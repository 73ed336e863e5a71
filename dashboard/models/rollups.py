"""Figures of history: what triggers note of each change, the counters by day it is folded into, and the facts listed.

Triggers on `operations`, `operation_events` and `idempotency_conflicts` write the deltas and the facts in the
transaction of the change, whoever makes it. A figure is what the counters say plus what is not folded into them yet.
"""

from datetime import date, datetime

from sqlalchemy import BigInteger, Date, Index, Integer, SmallInteger, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from dashboard.db import ExactText, LongText, UTCDateTime
from dashboard.models.operations import Bytes
from dashboard.models.record import INNODB, Record, RowId


class RollupDelta(Record):
    """A change that no counter has yet: `amount` more or less, and the duration it is about where it has one."""

    __tablename__ = "rollup_deltas"

    id: Mapped[int] = mapped_column(RowId, primary_key=True)
    fact: Mapped[str] = mapped_column(ExactText(16))
    label: Mapped[str] = mapped_column(ExactText(64))
    day: Mapped[date] = mapped_column(Date)
    tenant: Mapped[str] = mapped_column(ExactText(64))
    type: Mapped[str] = mapped_column(ExactText(64))
    amount: Mapped[int] = mapped_column(SmallInteger)
    milliseconds: Mapped[int | None] = mapped_column(BigInteger)


class RollupDay(Record):
    """How often a fact happened on a UTC day; the tenant '' stands for all of them together."""

    __tablename__ = "rollup_days"
    __table_args__ = (UniqueConstraint("fact", "day", "tenant", "type", "label", name="uq_rollup_days_fact"), INNODB)

    id: Mapped[int] = mapped_column(RowId, primary_key=True)
    fact: Mapped[str] = mapped_column(ExactText(16))
    day: Mapped[date] = mapped_column(Date)
    tenant: Mapped[str] = mapped_column(ExactText(64))
    type: Mapped[str] = mapped_column(ExactText(64))
    label: Mapped[str] = mapped_column(ExactText(64))
    count: Mapped[int] = mapped_column(BigInteger)


class RollupHistogram(Record):
    """How long it took on a UTC day, as `domain.histograms` encodes it; the tenant '' stands for all of them."""

    __tablename__ = "rollup_histograms"
    __table_args__ = (UniqueConstraint("fact", "day", "tenant", "type", name="uq_rollup_histograms_fact"), INNODB)

    id: Mapped[int] = mapped_column(RowId, primary_key=True)
    fact: Mapped[str] = mapped_column(ExactText(16))
    day: Mapped[date] = mapped_column(Date)
    tenant: Mapped[str] = mapped_column(ExactText(64))
    type: Mapped[str] = mapped_column(ExactText(64))
    buckets: Mapped[bytes] = mapped_column(Bytes)


class RollupState(Record):
    """How far the counters are: one row, locked by whoever folds or rebuilds. Without `built_at` they are not whole.

    `drifts` is what the last check found, and `first_drift` the first of it in words.
    """

    __tablename__ = "rollup_state"

    id: Mapped[int] = mapped_column(SmallInteger, primary_key=True, autoincrement=False)
    built_at: Mapped[datetime | None] = mapped_column(UTCDateTime)
    folded_at: Mapped[datetime | None] = mapped_column(UTCDateTime)
    checked_at: Mapped[datetime | None] = mapped_column(UTCDateTime)
    drifts: Mapped[int] = mapped_column(Integer, default=0, server_default="0")
    first_drift: Mapped[str | None] = mapped_column(LongText)


class OperationFact(Record):
    """One event behind a figure. `operation_id` is the row's number, NULL for a key without an operation.

    `source_id` is the number of the event or conflict that it tells of.
    """

    __tablename__ = "operation_facts"
    __table_args__ = (
        UniqueConstraint("fact", "source_id", name="uq_operation_facts_source"),
        Index("ix_operation_facts_at", "fact", "at", "id"),
        Index("ix_operation_facts_type", "fact", "type", "at", "id"),
        Index("ix_operation_facts_tenant", "fact", "tenant", "at", "id"),
        INNODB,
    )

    id: Mapped[int] = mapped_column(RowId, primary_key=True)
    fact: Mapped[str] = mapped_column(ExactText(16))
    label: Mapped[str] = mapped_column(ExactText(64))
    at: Mapped[datetime] = mapped_column(UTCDateTime)
    operation_id: Mapped[int | None] = mapped_column(RowId)
    source_id: Mapped[int] = mapped_column(RowId)
    tenant: Mapped[str] = mapped_column(ExactText(64))
    type: Mapped[str] = mapped_column(ExactText(64))
