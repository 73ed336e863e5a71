"""Reconciliation runs and what each look found; policy versions that decisions name."""

from datetime import datetime
from typing import Any

from sqlalchemy import BigInteger, Boolean, ForeignKey, Integer, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from dashboard.db import ExactText, JSONColumn, LongText, UTCDateTime
from dashboard.models.record import INNODB, Record, RowId


class PolicyVersion(Record):
    """A policy file as it was when it was first used; decisions name it by `hash`, the SHA-256 of its bytes."""

    __tablename__ = "policies"

    hash: Mapped[str] = mapped_column(ExactText(64), primary_key=True)
    content: Mapped[str] = mapped_column(LongText)
    first_seen_at: Mapped[datetime] = mapped_column(UTCDateTime)


class ReconciliationRun(Record):
    """One pass over what was due; the counts are of its findings, `digest` covers the events it wrote."""

    __tablename__ = "reconciliation_runs"

    id: Mapped[int] = mapped_column(RowId, primary_key=True)
    state: Mapped[str] = mapped_column(ExactText(16))
    origin: Mapped[str] = mapped_column(ExactText(16))
    started_by: Mapped[str] = mapped_column(ExactText(254))
    observe: Mapped[bool] = mapped_column(Boolean)
    only_type: Mapped[str | None] = mapped_column(ExactText(64))
    policy_hash: Mapped[str | None] = mapped_column(ExactText(64))
    started_at: Mapped[datetime] = mapped_column(UTCDateTime)
    finished_at: Mapped[datetime | None] = mapped_column(UTCDateTime)
    examined: Mapped[int] = mapped_column(Integer, default=0, server_default="0")
    correct: Mapped[int] = mapped_column(Integer, default=0, server_default="0")
    absent: Mapped[int] = mapped_column(Integer, default=0, server_default="0")
    divergent: Mapped[int] = mapped_column(Integer, default=0, server_default="0")
    ambiguous: Mapped[int] = mapped_column(Integer, default=0, server_default="0")
    not_applicable: Mapped[int] = mapped_column(Integer, default=0, server_default="0")
    acted: Mapped[int] = mapped_column(Integer, default=0, server_default="0")
    skipped: Mapped[int] = mapped_column(Integer, default=0, server_default="0")
    digest: Mapped[str | None] = mapped_column(ExactText(64))


class ReconciliationFinding(Record):
    """What one look at one operation said, what policy makes of it, and whether that was done.

    `operation_id` is the row's number. In observe mode this row is all that a look leaves behind.
    """

    __tablename__ = "reconciliation_findings"

    id: Mapped[int] = mapped_column(RowId, primary_key=True)
    run_id: Mapped[int] = mapped_column(ForeignKey("reconciliation_runs.id"))
    operation_id: Mapped[int] = mapped_column(ForeignKey("operations.id"))
    tenant: Mapped[str] = mapped_column(ExactText(64))
    type: Mapped[str] = mapped_column(ExactText(64))
    at: Mapped[datetime] = mapped_column(UTCDateTime)
    state: Mapped[str] = mapped_column(ExactText(24))
    attempts: Mapped[int] = mapped_column(Integer)
    verdict: Mapped[str] = mapped_column(ExactText(24))
    response: Mapped[str] = mapped_column(ExactText(16))
    target: Mapped[str | None] = mapped_column(ExactText(24))
    applied: Mapped[bool] = mapped_column(Boolean)
    reason: Mapped[str] = mapped_column(ExactText(48))
    evidence: Mapped[dict[str, Any] | None] = mapped_column(JSONColumn)


class EvidenceItem(Record):
    """A line of a result file or a signed acknowledgement; `event_id` makes taking it in twice harmless.

    `operation_id` is the row's number where exactly one operation matched; `match` says `matched`,
    `unmatched` or `several`. A matched item without `judged_at` still waits to be judged.
    """

    __tablename__ = "evidence_items"
    __table_args__ = (UniqueConstraint("destination", "event_id"), INNODB)

    id: Mapped[int] = mapped_column(RowId, primary_key=True)
    destination: Mapped[str] = mapped_column(ExactText(64))
    event_id: Mapped[str] = mapped_column(ExactText(128))
    source: Mapped[str] = mapped_column(ExactText(16))
    operation_id: Mapped[int | None] = mapped_column(ForeignKey("operations.id"))
    match: Mapped[str] = mapped_column(ExactText(16))
    occurred_at: Mapped[datetime | None] = mapped_column(UTCDateTime)
    received_at: Mapped[datetime] = mapped_column(UTCDateTime)
    origin: Mapped[str] = mapped_column(ExactText(254))
    line: Mapped[int | None] = mapped_column(BigInteger)
    content: Mapped[dict[str, Any]] = mapped_column(JSONColumn)
    raw_hash: Mapped[str] = mapped_column(ExactText(64))
    judged_at: Mapped[datetime | None] = mapped_column(UTCDateTime)


class DestinationBudget(Record):
    """What all workers share about a destination: retries used in the current minute, and whether it is away.

    `failures` counts the attempts in a row that it left unanswered; until `paused_until` nothing is sent.
    """

    __tablename__ = "destination_budgets"

    destination: Mapped[str] = mapped_column(ExactText(64), primary_key=True)
    minute: Mapped[datetime] = mapped_column(UTCDateTime)
    used: Mapped[int] = mapped_column(Integer)
    failures: Mapped[int] = mapped_column(Integer, default=0, server_default="0")
    paused_until: Mapped[datetime | None] = mapped_column(UTCDateTime)
