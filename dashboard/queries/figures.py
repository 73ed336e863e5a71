"""The figures of the overview, each countable again as rows of a list.

Open work is counted live from the indexes over open rows, so a host that changes states by plain SQL is counted
too (performance rule 16); verdicts come from the counters by day. An age is the time since creation.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from sqlalchemy import case, func, literal_column, select
from sqlalchemy.orm import Session

from dashboard.domain.ages import AGE_BUCKETS
from dashboard.domain.facts import Fact, Period
from dashboard.domain.permissions import Scope
from dashboard.domain.states import State
from dashboard.domain.verdicts import Verdict
from dashboard.models import Action, IdempotencyRecord, Operation
from dashboard.queries.idempotency import CONFLICTED
from dashboard.queries.operations import IS_OPEN
from dashboard.queries.proposals import standing
from dashboard.queries.scoping import in_scope
from dashboard.queries.trends import counts

DIVERGENCE_DAYS = 30
CONFIRMED_SAMPLE = 1000
CONFIRMED_DAYS = 7


class Percentiles(NamedTuple):
    """The ages that half and 95 of 100 open operations do not exceed (nearest rank); None without any."""

    p50: timedelta | None = None
    p95: timedelta | None = None


class AgeCounts(NamedTuple):
    """Open operations of one age bucket; those past their deadline and those in review among them."""

    open: int = 0
    overdue: int = 0
    review: int = 0


@dataclass(frozen=True)
class TypeFigures:
    """Open work of one type; `ages` counts by the name of the age bucket."""

    type: str
    states: Mapping[str, int]
    exceptions: int
    overdue: int
    oldest: datetime
    percentiles: Percentiles
    ages: Mapping[str, AgeCounts]

    @property
    def open(self) -> int:
        """How many are not terminal."""
        return sum(self.states.values())

    @property
    def open_by_age(self) -> list[int]:
        """How many of each age bucket, the youngest first."""
        return [self.ages.get(bucket.name, AgeCounts()).open for bucket in AGE_BUCKETS]

    def of(self, state: State) -> int:
        """How many are in this state."""
        return self.states.get(state.value, 0)


class Divergence(NamedTuple):
    """The verdicts of operations created today or in the 29 UTC days before, counted; how many of them diverge."""

    verdicts: Mapping[str, int]
    since: datetime
    until: datetime

    @property
    def divergent(self) -> int:
        """How many found something else than expected."""
        return self.verdicts.get(Verdict.DIVERGENT.value, 0)

    @property
    def judged(self) -> int:
        """How many have a verdict at all."""
        return sum(self.verdicts.values())

    @property
    def rate(self) -> float | None:
        """The share between 0 and 1; None where none was judged."""
        return self.divergent / self.judged if self.judged else None


class Confirmation(NamedTuple):
    """Time from creation to confirmation of all confirmed at or after `since`: about the newest 1,000 of seven days."""

    p95: timedelta | None
    size: int
    since: datetime | None


@dataclass(frozen=True)
class Overview:
    """All figures of the overview at one moment of the database's clock."""

    now: datetime
    types: Sequence[TypeFigures]
    percentiles: Percentiles
    divergence: Divergence
    confirmation: Confirmation
    idempotency_conflicts: int
    actions_to_verify: int
    approvals_waiting: int

    @property
    def oldest(self) -> datetime | None:
        """When the oldest open operation was created."""
        return min((found.oldest for found in self.types), default=None)

    def total(self, name: str) -> int:
        """The sum over types of `open`, `exceptions`, `overdue`, or of a state by its name."""
        if name in set(State):
            return sum(found.of(State(name)) for found in self.types)
        return sum(getattr(found, name) for found in self.types)

    def aged(self, bucket: str) -> AgeCounts:
        """The sum over types of one age bucket."""
        found = [each.ages.get(bucket, AgeCounts()) for each in self.types]
        return AgeCounts(*(sum(counts[index] for counts in found) for index in range(len(AgeCounts._fields))))


def overview(session: Session, *, scopes: Sequence[Scope], now: datetime) -> Overview:
    """Count everything the overview shows, within the grants; the number of queries is fixed."""
    record = IdempotencyRecord
    conflicts = (
        select(func.count())
        .select_from(record)
        .where(CONFLICTED, in_scope(scopes, tenant=record.tenant, type=record.operation))
    )
    actions = select(
        func.coalesce(func.sum(case((Action.outcome == "to_verify", 1), else_=0)), 0),
        func.coalesce(func.sum(case((standing(now), 1), else_=0)), 0),
    ).where(
        (Action.outcome == "to_verify") | (Action.state == "proposed"),
        in_scope(scopes, tenant=Action.tenant, type=Action.type),
    )
    to_verify, waiting = session.execute(actions).one()
    return Overview(
        now=now,
        types=_by_type(session, scopes=scopes, now=now),
        percentiles=_percentiles(session, scopes=scopes, now=now, by_type=False).get("", Percentiles()),
        divergence=_divergence(session, scopes=scopes, now=now),
        confirmation=_confirmation(session, scopes=scopes, now=now),
        idempotency_conflicts=session.scalar(conflicts) or 0,
        actions_to_verify=int(to_verify),
        approvals_waiting=int(waiting),
    )


def _by_type(session: Session, *, scopes: Sequence[Scope], now: datetime) -> list[TypeFigures]:
    overdue = func.sum(case((Operation.deadline_at < now, 1), else_=0))
    rows = session.execute(
        select(
            Operation.type,
            Operation.state,
            func.count().label("size"),
            overdue.label("overdue"),
            func.min(Operation.created_at).label("oldest"),
        )
        .where(IS_OPEN, in_scope(scopes))
        .group_by(Operation.type, Operation.state)
    ).all()
    ages = _ages(session, scopes=scopes, now=now)
    percentiles = _percentiles(session, scopes=scopes, now=now, by_type=True)
    grouped: dict[str, list[Any]] = {}
    for row in rows:
        grouped.setdefault(row.type, []).append(row)
    # Each query sees the newest rows, so a type may be in one of them and not yet in the others.
    found = [
        _of_type(name, group, ages.get(name, {}), percentiles.get(name, Percentiles()))
        for name, group in grouped.items()
    ]
    return sorted(found, key=lambda each: (-each.exceptions, -each.open, each.type))


def _of_type(name: str, rows: Sequence[Any], ages: Mapping[str, AgeCounts], percentiles: Percentiles) -> TypeFigures:
    states = {row.state: row.size for row in rows}
    overdue = {row.state: int(row.overdue) for row in rows}
    review = states.get(State.MANUAL_REVIEW.value, 0)
    return TypeFigures(
        type=name,
        states=states,
        exceptions=review + sum(count for state, count in overdue.items() if state != State.MANUAL_REVIEW),
        overdue=sum(overdue.values()),
        oldest=min(row.oldest for row in rows),
        percentiles=percentiles,
        ages=ages,
    )


def _ages(session: Session, *, scopes: Sequence[Scope], now: datetime) -> dict[str, dict[str, AgeCounts]]:
    """Open operations by type and age bucket."""
    bounds = [(Operation.created_at > now - bucket.upper, bucket.name) for bucket in AGE_BUCKETS if bucket.upper]
    bucket = case(*bounds, else_=AGE_BUCKETS[-1].name).label("bucket")
    columns = (Operation.type, bucket, Operation.state, Operation.deadline_at)
    inner = select(*columns).where(IS_OPEN, in_scope(scopes)).subquery("aged")
    overdue = func.sum(case((inner.c.deadline_at < now, 1), else_=0))
    review = func.sum(case((inner.c.state == State.MANUAL_REVIEW.value, 1), else_=0))
    rows = session.execute(
        select(inner.c.type, inner.c.bucket, func.count(), overdue, review).group_by(inner.c.type, inner.c.bucket)
    )
    found: dict[str, dict[str, AgeCounts]] = {}
    for name, age, *sizes in rows:
        found.setdefault(name, {})[age] = AgeCounts(*(int(size) for size in sizes))
    return found


def _percentiles(session: Session, *, scopes: Sequence[Scope], now: datetime, by_type: bool) -> dict[str, Percentiles]:
    """Nearest-rank percentiles of age by type, or of all under the name ''; window functions on every engine."""
    group = Operation.type if by_type else literal_column("''")
    over: dict[str, Any] = {"partition_by": Operation.type} if by_type else {}
    ranked = (
        select(
            group.label("name"),
            Operation.created_at,
            func.row_number().over(order_by=Operation.created_at.desc(), **over).label("rank"),
            func.count().over(**over).label("total"),
        )
        .where(IS_OPEN, in_scope(scopes))
        .subquery("ranked")
    )
    half, most = (ranked.c.total * 50 + 99) // 100, (ranked.c.total * 95 + 99) // 100
    rows = session.execute(
        select(
            ranked.c.name,
            func.max(case((ranked.c.rank == half, ranked.c.created_at))),
            func.max(case((ranked.c.rank == most, ranked.c.created_at))),
        ).group_by(ranked.c.name)
    )
    return {name: Percentiles(_age(middle, now=now), _age(old, now=now)) for name, middle, old in rows}


def _age(since: datetime | None, *, now: datetime) -> timedelta | None:
    """Never negative: a host's clock may be ahead of ours."""
    return max(now - since, timedelta()) if since else None


def _divergence(session: Session, *, scopes: Sequence[Scope], now: datetime) -> Divergence:
    """From the counters by day: the work does not grow with the operations of a month."""
    period = Period.of(days=DIVERGENCE_DAYS, now=now)
    found = counts(session, fact=Fact.VERDICT, period=period, scopes=scopes).by_label
    # A host may write words that are no verdicts; no list has a filter for them.
    known = {verdict.value: found.get(verdict.value, 0) for verdict in Verdict}
    return Divergence(known, period.since, period.until)


def _confirmation(session: Session, *, scopes: Sequence[Scope], now: datetime) -> Confirmation:
    # The days bound the work where a person's grants are rare among the confirmed, the sample where they are common.
    newest = now - timedelta(days=CONFIRMED_DAYS)
    rows = session.execute(
        select(Operation.created_at, Operation.confirmed_at)
        .where(Operation.confirmed_at >= newest, Operation.state == State.CONFIRMED.value, in_scope(scopes))
        .order_by(Operation.confirmed_at.desc(), Operation.id.desc())
        .limit(CONFIRMED_SAMPLE + 1)
    ).all()
    sample = _whole_instants(rows)
    if not sample:
        return Confirmation(None, 0, None)
    times = sorted(max(row.confirmed_at - row.created_at, timedelta()) for row in sample)
    return Confirmation(times[(len(times) * 95 + 99) // 100 - 1], len(times), sample[-1].confirmed_at)


def _whole_instants(rows: Sequence[Any]) -> Sequence[Any]:
    """The newest 1,000 without an instant that reaches beyond them, so that the list from `since` has these rows."""
    if len(rows) <= CONFIRMED_SAMPLE:
        return rows
    cut = rows[-1].confirmed_at
    return [row for row in rows if row.confirmed_at > cut] or rows[:CONFIRMED_SAMPLE]
