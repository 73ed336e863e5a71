"""What Prometheus reads: open work from its indexes, history from the counters by day, and the times of the last work.

Nothing here looks at history itself, and nothing is kept in a process: any number of them answer alike.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import ColumnElement, case, func, literal_column, select
from sqlalchemy.orm import Session

from dashboard.domain.messages import MessageState
from dashboard.domain.permissions import Scope
from dashboard.domain.states import State
from dashboard.models import (
    Action,
    AlertEvaluation,
    AwaySink,
    IdempotencyRecord,
    Operation,
    OutboxMessage,
    ReconciliationRun,
)
from dashboard.queries import alerts, outbox, trends
from dashboard.queries.audit_checks import AuditStanding, audit_standing
from dashboard.queries.idempotency import CONFLICTED
from dashboard.queries.open_rows import IS_OPEN, grouped
from dashboard.queries.proposals import standing
from dashboard.queries.trends import Durations, Fact, Freshness, Period, Sum

EVERYTHING = (Scope(tenant=None, type=None),)
DAYS = 30
# Days times types are as many histograms to read.
TIMED_DAYS = 7
# Rows of these facts only ever come, so they can be counters; the others follow what the operations say now.
COUNTED = (Fact.RETRY, Fact.PROBE_FAILED, Fact.CONTRADICTED, Fact.REOPENED, Fact.KEY_CONFLICT)
MEASURED = (Fact.VERDICT, Fact.CONFIRMED, Fact.CREATED)


@dataclass(frozen=True)
class OpenWork:
    """Open operations of one type in one state."""

    type: str
    state: str
    size: int
    overdue: int
    oldest: datetime

    @property
    def exceptions(self) -> int:
        """How many of them need a person."""
        return self.size if self.state == State.MANUAL_REVIEW else self.overdue


@dataclass(frozen=True)
class LastWork:
    """When the engine last did something; None where it never did."""

    reconciliation: datetime | None
    publishing: datetime | None


@dataclass(frozen=True)
class Standing:
    """Everything at one moment of the database's clock."""

    now: datetime
    open: tuple[OpenWork, ...]
    outbox: outbox.Figures
    away_sinks: int
    keys: Mapping[str, int]
    conflicted_keys: int
    actions_to_verify: int
    approvals_waiting: int
    last: LastWork
    audit: AuditStanding
    alerts: Mapping[str, int]
    alerts_looked_at: datetime | None
    freshness: Freshness
    this_month: Sequence[Sum]
    last_days: Sequence[Sum]
    confirmation: Durations


def standing_at(session: Session, *, now: datetime) -> Standing:
    """Read everything, of all tenants and types; the number of queries is fixed."""
    to_verify, waiting = _actions(session, now=now)
    days = Period.of(days=DAYS, now=now)
    month = Period(days.last.replace(day=1), days.last)
    return Standing(
        now=now,
        open=open_work(session, now=now),
        outbox=outbox.figures(session, scopes=EVERYTHING),
        away_sinks=session.scalar(select(func.count()).select_from(AwaySink)) or 0,
        keys=_keys(session),
        conflicted_keys=session.scalar(select(func.count()).select_from(IdempotencyRecord).where(CONFLICTED)) or 0,
        actions_to_verify=to_verify,
        approvals_waiting=waiting,
        last=LastWork(_last_run(session), _last_published(session)),
        audit=audit_standing(session),
        alerts=alerts.firing_by_rule(session, now=now),
        alerts_looked_at=session.scalar(select(AlertEvaluation.evaluated_at)),
        freshness=trends.freshness(session),
        this_month=trends.sums(session, facts=COUNTED, period=month, scopes=EVERYTHING),
        last_days=trends.sums(session, facts=MEASURED, period=days, scopes=EVERYTHING),
        confirmation=trends.durations(session, period=Period.of(days=TIMED_DAYS, now=now), scopes=EVERYTHING),
    )


def open_work(session: Session, *, now: datetime) -> tuple[OpenWork, ...]:
    """Count open work by type and state, of all tenants."""
    overdue = func.sum(case((Operation.deadline_at < now, 1), else_=0))
    rows = session.execute(
        select(Operation.type, Operation.state, func.count(), overdue, func.min(Operation.created_at))
        .where(IS_OPEN)
        .group_by(*grouped((Operation.type, Operation.state)))
    )
    return tuple(OpenWork(name, state, size, int(late), oldest) for name, state, size, late, oldest in rows)


def _keys(session: Session) -> dict[str, int]:
    record = IdempotencyRecord
    is_open: ColumnElement[bool] = literal_column("idempotency_records.is_open = 1")
    rows = session.execute(select(record.state, func.count().label("size")).where(is_open).group_by(record.state))
    return {row.state: row.size for row in rows}


def _actions(session: Session, *, now: datetime) -> tuple[int, int]:
    found = select(
        func.coalesce(func.sum(case((Action.outcome == "to_verify", 1), else_=0)), 0),
        func.coalesce(func.sum(case((standing(now), 1), else_=0)), 0),
    ).where((Action.outcome == "to_verify") | (Action.state == "proposed"))
    to_verify, waiting = session.execute(found).one()
    return int(to_verify), int(waiting)


def _last_run(session: Session) -> datetime | None:
    run = ReconciliationRun
    return session.scalar(select(func.coalesce(run.finished_at, run.started_at)).order_by(run.id.desc()).limit(1))


def _last_published(session: Session) -> datetime | None:
    message = OutboxMessage
    published = select(message.published_at).where(message.state == MessageState.PUBLISHED.value)
    return session.scalar(published.order_by(message.id.desc()).limit(1))
