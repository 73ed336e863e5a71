"""What the tables say: the figures of a day counted from the rows themselves, and the events that have no fact yet.

The triggers count the same in the transaction of each change (migration 0034); a test compares the two.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from typing import Any, TypeAlias

from sqlalchemy import ColumnElement, Select, and_, case, func, literal, literal_column, null, select
from sqlalchemy.orm import InstrumentedAttribute, Session

from dashboard.domain.facts import IN_TIME, LATE, LISTED, Fact, Period
from dashboard.domain.histograms import bucket_of
from dashboard.domain.states import TERMINAL, ActorKind, EventKind, State
from dashboard.models import IdempotencyConflict, IdempotencyRecord, Operation, OperationEvent, OperationFact

ALL_TENANTS = ""
MILLISECONDS = {
    "postgresql": "CAST(greatest(floor(extract(epoch FROM confirmed_at - created_at) * 1000), 0) AS bigint)",
    "sqlite": "CAST(max(round((julianday(confirmed_at) - julianday(created_at)) * 86400000), 0) AS integer)",
    "mysql": "GREATEST(TIMESTAMPDIFF(MICROSECOND, created_at, confirmed_at) DIV 1000, 0)",
}
FAILED = {
    "postgresql": "operation_events.evidence ->> 'failed'",
    "sqlite": "CASE WHEN json_valid(operation_events.evidence) "
    "THEN json_extract(operation_events.evidence, '$.failed') END",
    # Beside columns of ours in one CASE it needs a collation that wins.
    "mysql": "JSON_VALUE(operation_events.evidence, '$.failed') COLLATE utf8mb4_bin",
}
FACT_COLUMNS = ("fact", "label", "at", "operation_id", "source_id", "tenant", "type")


Key: TypeAlias = tuple[str, date, str, str, str]
Group: TypeAlias = tuple[str, date, str, str]


@dataclass
class Figures:
    """Counts by (fact, day, tenant, type, label) and buckets of durations by (fact, day, tenant, type).

    Each is kept for the tenant and for all of them together.
    """

    counts: Counter[Key] = field(default_factory=Counter)
    buckets: dict[Group, Counter[int]] = field(default_factory=dict)

    def add(self, key: Key, amount: int, milliseconds: int | None = None) -> None:
        """Count one more row, or several, or take some back."""
        fact, day, tenant, name, label = key
        # A host may have left a tenant blank: then the two are one.
        for each in {tenant, ALL_TENANTS}:
            self.counts[fact, day, each, name, label] += amount
            if milliseconds is not None:
                self.buckets.setdefault((fact, day, each, name), Counter())[bucket_of(milliseconds)] += amount


def figures_of(session: Session, day: date) -> Figures:
    """Count a day anew from the tables, in what the session sees."""
    figures, period = Figures(), Period(day, day)
    for statement in _statements(session, period):
        for fact, tenant, name, label, milliseconds, amount in session.execute(
            statement, execution_options={"yield_per": 5000}
        ):
            figures.add((fact, day, tenant, name, label), int(amount), milliseconds)
    return figures


def days_with_rows(session: Session) -> set[date]:
    """Each UTC day on which anything counts, found by leaps through the indexes."""
    found = {*_leaps(session, Operation.created_at), *_leaps(session, Operation.confirmed_at)}
    for fact in LISTED:
        found |= set(_leaps(session, OperationFact.at, OperationFact.fact == fact.value))
    return found


def missing_events(session: Session, *, first: int, last: int) -> Select[*tuple[Any, ...]]:
    """The facts that events with these numbers should have and have not."""
    event, fact, label = OperationEvent, *_told(session)
    told = select(OperationFact.id).where(
        OperationFact.fact.in_(sorted(LISTED - {Fact.KEY_CONFLICT})), OperationFact.source_id == event.id
    )
    return (
        select(fact, label, event.at, event.operation_id, event.id, Operation.tenant, Operation.type)
        .join(Operation, Operation.id == event.operation_id)
        .where(event.id.between(first, last), fact.is_not(None), ~told.exists())
    )


def missing_conflicts(*, first: int, last: int) -> Select[*tuple[Any, ...]]:
    """The facts that conflicts with these numbers should have and have not."""
    conflict, record, fact = IdempotencyConflict, IdempotencyRecord, literal(Fact.KEY_CONFLICT.value)
    told = select(OperationFact.id).where(OperationFact.fact == fact, OperationFact.source_id == conflict.id)
    return (
        select(fact, literal(""), conflict.at, null(), conflict.id, record.tenant, record.operation)
        .join(record, record.id == conflict.record_id)
        .where(conflict.id.between(first, last), ~told.exists())
    )


def _statements(session: Session, period: Period) -> Iterator[Select[*tuple[Any, ...]]]:
    row, one = Operation, OperationFact
    created = _within(row.created_at, period)
    yield _grouped(row, fact=Fact.CREATED).where(created)
    yield _grouped(row, fact=Fact.VERDICT, by=[row.verdict]).where(created, row.verdict.is_not(None))
    in_time: ColumnElement[Any] = literal_column(f"'{IN_TIME}'")
    label = case((row.confirmed_at <= row.deadline_at, in_time), else_=literal_column(f"'{LATE}'"))
    took: ColumnElement[Any] = literal_column(MILLISECONDS[session.get_bind().dialect.name])
    yield _grouped(row, fact=Fact.CONFIRMED, by=[label, took]).where(
        _within(row.confirmed_at, period), row.state == State.CONFIRMED.value
    )
    for fact in sorted(LISTED):
        yield _grouped(one, fact=fact, by=[one.label]).where(one.fact == fact.value, _within(one.at, period))


def _grouped(model: Any, *, fact: Fact, by: Sequence[Any] = ()) -> Select[*tuple[Any, ...]]:
    """Rows of (fact, tenant, type, label, milliseconds, count); `by` holds the label and the milliseconds, if any."""
    none: tuple[Any, ...] = (literal_column("''"), null())
    columns = (*by, *none[len(by) :])
    told: ColumnElement[str] = literal_column(f"'{fact.value}'")
    return select(told, model.tenant, model.type, *columns, func.count()).group_by(model.tenant, model.type, *by)


def _within(column: InstrumentedAttribute[Any], period: Period) -> ColumnElement[bool]:
    return and_(column >= period.since, column < period.until)


def _leaps(session: Session, column: InstrumentedAttribute[Any], *where: ColumnElement[bool]) -> Iterator[date]:
    at: datetime | None = datetime.min.replace(tzinfo=UTC)
    while at := session.scalar(select(func.min(column)).where(column >= at, *where)):
        day = at.astimezone(UTC).date()
        yield day
        if day == date.max:
            return
        at = Period(day, day).until


def _told(session: Session) -> tuple[ColumnElement[Any], ColumnElement[Any]]:
    """Which fact an event is, NULL for most, and its label."""
    event, name = OperationEvent, session.get_bind().dialect.name
    failed: ColumnElement[Any] = literal_column(FAILED[name])
    moved = event.kind == EventKind.TRANSITION.value
    to_review = and_(moved, event.to_state == State.MANUAL_REVIEW.value)
    retry = and_(moved, event.to_state == State.RETRY_SCHEDULED.value)
    unanswered = and_(event.kind == EventKind.PROBE.value, failed.is_not(None))
    by_machine = event.actor_kind.in_([ActorKind.RECONCILER.value, ActorKind.WORKER.value, ActorKind.SYSTEM.value])
    contradicted = and_(to_review, event.from_state == State.CONFIRMED.value, by_machine)
    by_person = event.actor_kind.in_([ActorKind.USER.value, ActorKind.API.value])
    reopened = and_(to_review, event.from_state.in_(sorted(TERMINAL)), by_person)
    fact = case(
        (retry, Fact.RETRY.value),
        (unanswered, Fact.PROBE_FAILED.value),
        (contradicted, Fact.CONTRADICTED.value),
        (reopened, Fact.REOPENED.value),
    )
    asked = case((event.actor_kind == ActorKind.RECONCILER.value, "absent"), else_="requeue")
    label = case(
        (retry, func.coalesce(event.cause, asked)),
        (unanswered, func.substr(failed, 1, 64)),
        (reopened, event.from_state),
        else_="",
    )
    return fact, label
