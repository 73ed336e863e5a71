"""Figures of history: what the counters by day say, and what is not folded into them yet; hence exact at any moment.

Whoever may see all tenants reads the rows that sum them up, so that 10,000 tenants cost no more than one.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any, cast

from sqlalchemy import CTE, ColumnElement, Select, and_, false, func, literal, null, or_, select, union_all
from sqlalchemy.orm import Session

from dashboard.domain.facts import Fact, Facts, Period
from dashboard.domain.histograms import Histogram, bucket_of, decode, merge
from dashboard.domain.permissions import Scope
from dashboard.models import RollupDay, RollupDelta, RollupHistogram, RollupState
from dashboard.queries.scoping import in_scope

__all__ = [
    "Counts",
    "Durations",
    "Fact",
    "Facts",
    "Freshness",
    "Period",
    "Sum",
    "counts",
    "durations",
    "each_count",
    "freshness",
    "sums",
]

ALL_TENANTS = ""


@dataclass(frozen=True)
class Counts:
    """How often a fact happened; days and types without any are left out."""

    by_day: dict[date, dict[str, int]] = field(default_factory=dict)
    by_type: dict[str, dict[str, int]] = field(default_factory=dict)
    by_label: dict[str, int] = field(default_factory=dict)

    @property
    def total(self) -> int:
        """Over all days, types and labels."""
        return sum(self.by_label.values())


@dataclass(frozen=True)
class Sum:
    """How often a fact happened to one type under one label; `first` is the first day of them."""

    fact: str
    type: str
    label: str
    count: int
    first: date


@dataclass(frozen=True)
class Durations:
    """How long it took from creation to confirmation; days and types without any are left out."""

    all: Histogram = field(default_factory=Histogram)
    by_day: dict[date, Histogram] = field(default_factory=dict)
    by_type: dict[str, Histogram] = field(default_factory=dict)


@dataclass(frozen=True)
class Freshness:
    """How far the counters are: without `built_at` they are not whole yet; `unfolded` changes are added at each look.

    `drifts` is how many figures the last check found to be other than the tables say.
    """

    folded_at: datetime | None
    unfolded: int
    built_at: datetime | None
    checked_at: datetime | None
    drifts: int
    first_drift: str | None


@dataclass(frozen=True)
class _Asked:
    """Which figures: of which facts, in which days, within which grants and filters."""

    facts: tuple[Fact, ...]
    period: Period
    scopes: Sequence[Scope]
    types: Collection[str] | None
    tenant: str | None


def counts(
    session: Session,
    *,
    fact: Fact,
    period: Period,
    scopes: Sequence[Scope],
    type: str | None = None,  # noqa: A002 - the word of the design
    tenant: str | None = None,
) -> Counts:
    """Count a fact by day, type and label, within the grants; one query."""
    types = None if type is None else (type,)
    return each_count(session, facts=(fact,), period=period, scopes=scopes, types=types, tenant=tenant)[fact]


def each_count(
    session: Session,
    *,
    facts: Iterable[Fact],
    period: Period,
    scopes: Sequence[Scope],
    types: Collection[str] | None = None,
    tenant: str | None = None,
) -> dict[Fact, Counts]:
    """Count several facts by day, type and label, within the grants; one query for all of them."""
    asked = _Asked(tuple(facts), period, scopes, types, tenant)
    # Summed twice there, for days times types may be many.
    both = _both(asked)
    amount, label = func.sum(both.c.amount), both.c.label
    by_day = select(both.c.fact, both.c.day, null().label("type"), label, amount)
    by_type = select(both.c.fact, null(), both.c.type, label, amount)
    summed = union_all(
        by_day.group_by(both.c.fact, both.c.day, label), by_type.group_by(both.c.fact, both.c.type, label)
    )
    found: dict[str, list[Any]] = defaultdict(list)
    for fact, *row in session.execute(summed):
        found[fact].append(row)
    return {fact: _counted(found[fact.value]) for fact in asked.facts}


def sums(session: Session, *, facts: Iterable[Fact], period: Period, scopes: Sequence[Scope]) -> list[Sum]:
    """Count several facts by type and label alone, within the grants; one query for all of them."""
    asked = _Asked(tuple(facts), period, scopes, None, None)
    both = _both(asked)
    amount = func.sum(both.c.amount)
    found = select(both.c.fact, both.c.type, both.c.label, amount, func.min(both.c.day))
    grouped = found.group_by(both.c.fact, both.c.type, both.c.label).having(amount != 0)
    return [Sum(fact, name, label, int(count), first) for fact, name, label, count, first in session.execute(grouped)]


def durations(
    session: Session,
    *,
    period: Period,
    scopes: Sequence[Scope],
    types: Collection[str] | None = None,
    tenant: str | None = None,
) -> Durations:
    """The times from creation to confirmation by the day of the confirmation and by type, within the grants; one query.

    Source: the percentiles are estimated from fixed buckets, to within 4 %.
    """
    asked = _Asked((Fact.CONFIRMED,), period, scopes, types, tenant)
    held, delta = RollupHistogram, RollupDelta
    folded = select(held.day, held.type, held.buckets, null().label("milliseconds"), literal(0).label("amount")).where(
        *_folded(held, asked)
    )
    unfolded = (
        select(delta.day, delta.type, null().label("buckets"), delta.milliseconds, func.sum(delta.amount))
        .where(*_unfolded(asked), delta.milliseconds.is_not(None))
        .group_by(delta.day, delta.type, delta.milliseconds)
    )
    both: Select[*tuple[Any, ...]] = select(union_all(folded, unfolded).subquery("both"))
    by_day: dict[date, Counter[int]] = defaultdict(Counter)
    by_type: dict[str, Counter[int]] = defaultdict(Counter)
    for on, name, buckets, milliseconds, amount in session.execute(both):
        # Two sums of plain numbers: types times days are as many histograms.
        of_day, of_type = by_day[on], by_type[name]
        for bucket, count in _bucket_counts(buckets, milliseconds, amount):
            of_day[bucket] += count
            of_type[bucket] += count
    days = _histograms(by_day)
    return Durations(merge(days.values()), days, _histograms(by_type))


def freshness(session: Session) -> Freshness:
    """How far the counters are, and what the last check of them said."""
    unfolded = session.scalar(select(func.count()).select_from(RollupDelta)) or 0
    state = session.scalar(select(RollupState))
    if state is None:
        return Freshness(None, unfolded, None, None, 0, None)
    return Freshness(state.folded_at, unfolded, state.built_at, state.checked_at, state.drifts, state.first_drift)


def covered(scopes: Sequence[Scope], *, model: Any) -> ColumnElement[bool]:
    """Rows of the counters for these grants: the sums of all tenants where those are granted, each tenant's elsewhere.

    Names the tenants beside the days, so that the unique index leads straight to them.
    """
    everywhere = {scope.type for scope in scopes if scope.tenant is None}
    if None in everywhere:
        return cast("ColumnElement[bool]", model.tenant == ALL_TENANTS)
    types = sorted(name for name in everywhere if name)
    rest = [scope for scope in scopes if scope.tenant is not None and scope.type not in everywhere]
    parts: list[ColumnElement[bool]] = []
    if types:
        parts.append(and_(model.tenant == ALL_TENANTS, model.type.in_(types)))
    if rest:
        tenants = sorted({scope.tenant for scope in rest if scope.tenant})
        within = in_scope(rest, tenant=model.tenant, type=model.type)
        parts.append(and_(model.tenant.in_(tenants), within, model.type.not_in(types)))
    return or_(*parts) if parts else false()


def _both(asked: _Asked) -> CTE:
    """What is folded and what is not, in one statement, which no fold can come between."""
    day, delta = RollupDay, RollupDelta
    folded = select(day.fact, day.day, day.type, day.label, day.count.label("amount")).where(*_folded(day, asked))
    unfolded = select(delta.fact, delta.day, delta.type, delta.label, delta.amount).where(*_unfolded(asked))
    return union_all(folded, unfolded).cte("both")


def _folded(model: Any, asked: _Asked) -> list[ColumnElement[bool]]:
    # Days by name and not by their bounds: then the tenant behind them in the index is looked up and not filtered.
    where = [model.fact.in_([fact.value for fact in asked.facts]), model.day.in_(asked.period.days)]
    # A tenant without a name is none of the tenants: the sums under it are not for whoever asks for it.
    if asked.tenant is None:
        where.append(covered(asked.scopes, model=model))
    else:
        where += [
            model.tenant == (asked.tenant or None),
            in_scope(asked.scopes, tenant=model.tenant, type=model.type),
        ]
    return where if asked.types is None else [*where, model.type.in_(sorted(asked.types))]


def _unfolded(asked: _Asked) -> list[ColumnElement[bool]]:
    delta = RollupDelta
    where = [
        delta.fact.in_([fact.value for fact in asked.facts]),
        delta.day.between(asked.period.first, asked.period.last),
        in_scope(asked.scopes, tenant=delta.tenant, type=delta.type),
    ]
    if asked.tenant is not None:
        where.append(delta.tenant == (asked.tenant or None))
    return where if asked.types is None else [*where, delta.type.in_(sorted(asked.types))]


def _counted(rows: Iterable[Any]) -> Counts:
    """From sums by day and label, and by type and label."""
    by_day: dict[date, Counter[str]] = defaultdict(Counter)
    by_type: dict[str, Counter[str]] = defaultdict(Counter)
    by_label: Counter[str] = Counter()
    for day, name, label, amount in rows:
        if day is None:
            by_type[name][label] += int(amount)
        else:
            by_day[day][label] += int(amount)
            by_label[label] += int(amount)
    return Counts(_plain(by_day), _plain(by_type), {label: count for label, count in by_label.items() if count})


def _plain(counters: dict[Any, Counter[str]]) -> dict[Any, dict[str, int]]:
    found = {key: {label: count for label, count in each.items() if count} for key, each in counters.items()}
    return {key: found[key] for key in sorted(found) if found[key]}


def _bucket_counts(buckets: bytes | None, milliseconds: int, amount: int) -> Iterable[tuple[int, int]]:
    """What one row of the counters, or what is not folded, has in each bucket."""
    if buckets is not None:
        return decode(bytes(buckets)).buckets.items()
    return ((bucket_of(milliseconds), int(amount)),)


def _histograms(counters: dict[Any, Counter[int]]) -> dict[Any, Histogram]:
    found = {key: merge([Histogram(counters[key])]) for key in sorted(counters)}
    return {key: histogram for key, histogram in found.items() if histogram.buckets}
