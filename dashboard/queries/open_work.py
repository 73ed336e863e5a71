"""Open work in counts: what is open by type, state and age, what waits for review and why, and what money is at stake.

Counted live from the indexes over open rows, so that a host that changes states by plain SQL is counted too
(performance rule 16), in three statements that pass over them once each.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal, localcontext
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Select, case, cast, func, or_, select
from sqlalchemy import types as sql
from sqlalchemy.orm import InstrumentedAttribute, Session

from dashboard.domain.ages import AGE_BUCKETS, Windows
from dashboard.domain.bulk import LONGEST_SUM, exact_amount, exact_sum
from dashboard.domain.exceptions import Why, why_in_review
from dashboard.domain.permissions import Scope
from dashboard.domain.states import State
from dashboard.models import Operation
from dashboard.queries.open_ages import Ages
from dashboard.queries.open_rows import IS_OPEN, grouped, open_in_scope
from dashboard.queries.review_filters import window_bucket
from dashboard.queries.scoping import narrowing

_OLDEST = func.min(Operation.created_at)
# Enough for every amount a column holds, whole or not.
_EXACT = sql.Numeric(65, 30).with_variant(sql.Numeric(), "postgresql")


class Cell(NamedTuple):
    """Open operations of one type, state and age bucket; those past their deadline among them."""

    type: str
    state: str
    age: str
    size: int
    overdue: int
    oldest: datetime

    @property
    def exceptions(self) -> int:
        """How many of them need a person."""
        return self.size if self.state == State.MANUAL_REVIEW else self.overdue


class Review(NamedTuple):
    """Operations of one type in review, by the bucket of their age in windows and by reason."""

    type: str
    windows: str
    why: Why
    size: int


class Money(NamedTuple):
    """What the exceptions of one type are worth in one currency, to the last digit."""

    type: str
    currency: str
    size: int
    amount: Decimal


@dataclass(frozen=True)
class OpenWork:
    """All of it at one moment; `is_snapshot` where it was counted a little while ago.

    `ages` are the percentiles of its types and of all of it, where they were taken together with it.
    """

    now: datetime
    cells: Sequence[Cell]
    review: Sequence[Review]
    money: Sequence[Money]
    is_snapshot: bool = False
    ages: Ages | None = None

    def of_types(self, names: Iterable[str]) -> "OpenWork":
        """The part of it that is of these types."""
        kept = frozenset(names)
        return replace(
            self,
            cells=[each for each in self.cells if each.type in kept],
            review=[each for each in self.review if each.type in kept],
            money=[each for each in self.money if each.type in kept],
        )

    @property
    def totals(self) -> dict[str, int]:
        """How many operations of each type are open."""
        found: Counter[str] = Counter()
        for each in self.cells:
            found[each.type] += each.size
        return dict(found)

    @property
    def types(self) -> frozenset[str]:
        """The types that have open work."""
        return frozenset(each.type for each in self.cells)


def live(
    session: Session,
    *,
    scopes: Sequence[Scope],
    windows: Windows,
    now: datetime,
    type: str | None = None,  # noqa: A002 - the word of the design
    tenant: str | None = None,
) -> OpenWork:
    """Count open work within the grants, of one type and one tenant where they are named."""
    named = ((Operation.type, type), (Operation.tenant, tenant))
    where = [open_in_scope(scopes), *(narrowing(column) == value for column, value in named if value)]
    return OpenWork(
        now,
        [_cell(row) for row in session.execute(_cells(where, now=now))],
        _reviews(session.execute(_review(where, windows=windows, now=now))),
        _monies(session.execute(_money(session, where, now=now))),
    )


def by_tenant(session: Session, *, windows: Windows, now: datetime) -> dict[str, OpenWork]:
    """Count all open work by tenant."""
    found: dict[str, tuple[list[Cell], list[Any], list[Any]]] = defaultdict(lambda: ([], [], []))
    for tenant, *row in session.execute(_cells([IS_OPEN], Operation.tenant, now=now)):
        found[tenant][0].append(_cell(row))
    for tenant, *row in session.execute(_review([IS_OPEN], Operation.tenant, windows=windows, now=now)):
        found[tenant][1].append(row)
    for tenant, *row in session.execute(_money(session, [IS_OPEN], Operation.tenant, now=now)):
        found[tenant][2].append(row)
    return {
        tenant: OpenWork(now, cells, _reviews(review), _monies(money))
        for tenant, (cells, review, money) in found.items()
    }


def added(parts: Iterable[OpenWork], *, now: datetime, is_snapshot: bool = False) -> OpenWork:
    """Add up what was counted apart at one moment."""
    every = list(parts)
    cells: dict[tuple[str, str, str], list[Cell]] = defaultdict(list)
    for each in (cell for part in every for cell in part.cells):
        cells[each[:3]].append(each)
    return OpenWork(
        now,
        [
            Cell(*key, sum(each.size for each in some), sum(each.overdue for each in some), min(o.oldest for o in some))
            for key, some in cells.items()
        ],
        _summed(review for part in every for review in part.review),
        _monies((each.type, each.currency, each.size, each.amount) for part in every for each in part.money),
        is_snapshot,
    )


def _cells(
    where: Iterable[ColumnElement[bool]], *more: InstrumentedAttribute[str], now: datetime
) -> Select[*tuple[Any, ...]]:
    columns = (*more, Operation.type, Operation.state)
    # The oldest first: most open work is old, and each row is compared until one holds.
    bounds = [
        (Operation.created_at <= now - bucket.lower, number) for number, bucket in enumerate(AGE_BUCKETS) if number
    ]
    overdue = func.sum(case((Operation.deadline_at < now, 1), else_=0))
    return (
        select(*columns, case(*reversed(bounds), else_=0).label("age"), func.count(), overdue, _OLDEST)
        .where(*where)
        .group_by(*grouped(columns), "age")
    )


def _review(
    where: Iterable[ColumnElement[bool]], *more: InstrumentedAttribute[str], windows: Windows, now: datetime
) -> Select[*tuple[Any, ...]]:
    columns = (*more, Operation.type, Operation.verdict, Operation.cause)
    return (
        select(*columns, window_bucket(windows=windows, now=now).label("windows"), func.count())
        .where(*where, Operation.state == State.MANUAL_REVIEW.value)
        .group_by(*grouped(columns), "windows")
    )


def _money(
    session: Session, where: Iterable[ColumnElement[bool]], *more: InstrumentedAttribute[str], now: datetime
) -> Select[*tuple[Any, ...]]:
    """The amounts of the exceptions; SQLite has no exact numbers, so there each amount comes by itself."""
    columns = (*more, Operation.type, Operation.currency)
    is_exception = or_(Operation.state == State.MANUAL_REVIEW.value, Operation.deadline_at < now)
    exceptions = (*where, is_exception, Operation.amount.is_not(None))
    if session.get_bind().dialect.name == "sqlite":
        every = (*columns, Operation.amount)
        return select(*columns, func.count(), Operation.amount).where(*exceptions).group_by(*grouped(every))
    return (
        select(*columns, func.count(), func.sum(cast(Operation.amount, _EXACT)))
        .where(*exceptions)
        .group_by(*grouped(columns))
    )


def _cell(row: Sequence[Any]) -> Cell:
    name, state, age, size, overdue, oldest = row
    return Cell(name, state, AGE_BUCKETS[age].name, size, int(overdue), oldest)


def _reviews(rows: Iterable[Any]) -> list[Review]:
    return _summed(Review(name, age, why_in_review(verdict, cause), size) for name, verdict, cause, age, size in rows)


def _summed(reviews: Iterable[Review]) -> list[Review]:
    found: Counter[tuple[str, str, Why]] = Counter()
    for each in reviews:
        found[each[:3]] += each.size
    return [Review(*key, size) for key, size in sorted(found.items())]


def _monies(rows: Iterable[Any]) -> list[Money]:
    """Sums of (type, currency, how many, their amount, or as text the one amount that each of them has)."""
    found: dict[tuple[str, str], list[tuple[int, Decimal]]] = defaultdict(list)
    with localcontext(prec=LONGEST_SUM):
        for name, currency, size, amount in rows:
            exact = (exact_amount(amount) or Decimal()) * size if isinstance(amount, str) else amount
            found[name, currency].append((size, exact))
    return [
        Money(*key, sum(size for size, _ in some), _short(exact_sum(amount for _, amount in some)))
        for key, some in sorted(found.items())
    ]


def _short(amount: Decimal) -> Decimal:
    """The same without the noughts that an engine puts behind it."""
    with localcontext(prec=LONGEST_SUM):
        short = amount.normalize()
        return short.quantize(Decimal(1)) if short == short.to_integral_value() else short
