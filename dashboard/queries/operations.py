"""Lists of operations: the queue of exceptions and all operations, under the same filters.

The work follows what is open, never history: a list picks its row numbers from an index first and fetches the wide
columns of one page only (performance rules 3 to 5). Payloads and `expected` are never read here.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import _lru_cache_wrapper, lru_cache
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Float, Numeric, Select, cast, func, or_, select
from sqlalchemy.orm import Session

from dashboard.domain.ages import Windows
from dashboard.domain.permissions import Scope
from dashboard.domain.states import OPEN, State
from dashboard.models import Operation
from dashboard.queries import keyset, totals
from dashboard.queries.identity import matching
from dashboard.queries.keyset import Page, Position, Sort
from dashboard.queries.moments import NOW, Moment
from dashboard.queries.open_rows import grouped, open_in_scope
from dashboard.queries.review_filters import any_why, any_window
from dashboard.queries.scoping import by_its_index, in_scope, narrowing

NONE = "none"
UNASSIGNED = "nobody"
MOST_APART = 20
REQUIRED = (Operation.state, Operation.type, Operation.tenant, Operation.destination)
OPTIONAL = (Operation.verdict, Operation.cause, Operation.currency)

# Hosts may write more digits than an import takes; on PostgreSQL a cast to fixed digits fails on them.
_Amount = Numeric(30, 6).with_variant(Float(), "sqlite").with_variant(Numeric(), "postgresql")

SORTS = {
    "newest": Sort("newest", Operation.created_at, Operation.id, descending=True, read=keyset.read_time),
    "oldest": Sort("oldest", Operation.created_at, Operation.id, descending=False, read=keyset.read_time),
    "worst": Sort("worst", Operation.deadline_at, Operation.id, descending=False, read=keyset.read_time),
    "amount": Sort(
        "amount",
        cast(func.coalesce(Operation.amount, "0"), _Amount),
        Operation.id,
        descending=True,
        read=keyset.read_decimal,
    ),
}
OPEN_ONLY_SORTS = frozenset({"worst", "amount"})

COLUMNS = (
    Operation.operation_id,
    Operation.tenant,
    Operation.type,
    Operation.entity_type,
    Operation.entity_id,
    Operation.destination,
    Operation.state,
    Operation.attempts,
    Operation.next_attempt_at,
    Operation.deadline_at,
    Operation.amount,
    Operation.currency,
    Operation.cause,
    Operation.verdict,
    Operation.verdict_at,
    Operation.assigned_to,
    Operation.closed_reason,
    Operation.created_at,
    Operation.state_since,
    Operation.confirmed_at,
)


@dataclass(frozen=True)
class OperationFilter:
    """What a list is narrowed to; an empty field narrows nothing.

    Verdicts, causes and currencies may hold `none` for operations without one; `assigned_to` may be `nobody`. Ages are
    counted from creation; `age_windows` holds names of WINDOW_BUCKETS, and `windows` says how long those of each type
    are. `whys` are reasons for being in review. `exceptions` keeps what needs a person: in review, or overdue in any
    open state.
    """

    states: frozenset[State] = frozenset()
    types: frozenset[str] = frozenset()
    tenants: frozenset[str] = frozenset()
    destinations: frozenset[str] = frozenset()
    verdicts: frozenset[str] = frozenset()
    causes: frozenset[str] = frozenset()
    currencies: frozenset[str] = frozenset()
    whys: frozenset[str] = frozenset()
    age_windows: frozenset[str] = frozenset()
    windows: Windows = field(default_factory=Windows, compare=False)
    assigned_to: str | None = None
    min_age: timedelta | None = None
    max_age: timedelta | None = None
    created_from: datetime | None = None
    created_to: datetime | None = None
    confirmed_from: datetime | None = None
    confirmed_to: datetime | None = None
    overdue: bool = False
    exceptions: bool = False
    query: str | None = None

    @property
    def by_age(self) -> bool:
        """Whether it looks at ages."""
        return self.min_age is not None or self.max_age is not None or bool(self.age_windows)

    @property
    def only_open(self) -> bool:
        """Whether nothing but open work can be in the list."""
        return self.exceptions or self.overdue or bool(self.states and self.states <= OPEN)


class Choices(NamedTuple):
    """Values that open work has, for the filter's lists."""

    types: Sequence[str]
    tenants: Sequence[str]
    destinations: Sequence[str]


def list_operations(
    session: Session,
    filters: OperationFilter,
    *,
    scopes: Sequence[Scope],
    sort: Sort,
    position: Position,
    now: datetime,
) -> Page:
    """One page of rows with COLUMNS; raises InvalidInputError on a cursor that does not fit."""
    wide = made(_page, filters, tuple(scopes), sort.name, position.shape, now=now)
    return keyset.fetch(session, wide, sort=sort, position=position, values={"now": now})


def count_operations(
    session: Session, filters: OperationFilter, *, scopes: Sequence[Scope], now: datetime
) -> totals.Total:
    """How many rows the list has: exact for open work, capped for history; a search counts what it looks at."""
    counting = made(_count, filters, tuple(scopes), now=now)
    return totals.read(session, counting, {"now": now}, is_capped=not _is_bounded(filters))


def choices(session: Session, *, scopes: Sequence[Scope]) -> Choices:
    """The types, tenants and destinations of open work within the grants, in order."""
    rows = session.execute(_choices(tuple(scopes))).all()
    types, tenants, destinations = (sorted({row[index] for row in rows}) for index in range(3))
    return Choices(types, tenants, destinations)


def has_any(session: Session, *, scopes: Sequence[Scope]) -> bool:
    """Whether there is any operation within the grants, open or not."""
    return session.scalar(select(Operation.id).where(in_scope(scopes)).limit(1)) is not None


def conditions(filters: OperationFilter, *, scopes: Sequence[Scope], now: Moment) -> list[ColumnElement[bool]]:
    """The filter and the grants as SQL conditions; one that looks at ages needs a time for `now`."""
    found = [_visible(filters, scopes), *_among(filters), *_times(filters, now=now)]
    if filters.exceptions:
        found.append(or_(Operation.state == State.MANUAL_REVIEW.value, Operation.deadline_at < now))
    if filters.overdue:
        found.append(Operation.deadline_at < now)
    if filters.query:
        ids = matching(filters.query, within=found).subquery("matches")
        return [Operation.id.in_(select(ids.c.id))]
    return found


def made(
    make: "_lru_cache_wrapper[Select[*tuple[Any, ...]]]", filters: OperationFilter, *shape: Hashable, now: datetime
) -> Select[*tuple[Any, ...]]:
    """Make a statement, or take the one made before for the same filter and shape; ages are other bounds every time."""
    if filters.by_age:
        return make.__wrapped__(filters, *shape, now)
    return make(filters, *shape, NOW)


@lru_cache(maxsize=500)
def _page(
    filters: OperationFilter, scopes: tuple[Scope, ...], order: str, position: Position, now: Moment
) -> Select[*tuple[Any, ...]]:
    sort = SORTS[order]
    chosen: Select[*tuple[Any, ...]] = select(Operation.id.label("number"), sort.key.label("key"))
    parts = [chosen.where(*conditions(filters, scopes=some, now=now)) for some in _apart(filters, scopes)]
    ids = keyset.together([keyset.narrow(part, sort=sort, position=position) for part in parts])
    return (
        select(ids.c.number, ids.c.key, *COLUMNS)
        .select_from(ids)
        .join(Operation, Operation.id == ids.c.number)
        .order_by(*keyset.wide_order(sort, position, key=ids.c.key, number=ids.c.number))
        .limit(position.limit + 1)
    )


@lru_cache(maxsize=500)
def _count(filters: OperationFilter, scopes: tuple[Scope, ...], now: Moment) -> Select[*tuple[Any, ...]]:
    chosen: Select[*tuple[Any, ...]] = select(Operation.id.label("number"))
    parts = [chosen.where(*conditions(filters, scopes=some, now=now)) for some in _apart(filters, scopes)]
    if len(parts) > 1:
        return totals.up_to_cap(select(keyset.together([part.limit(totals.CAP + 1) for part in parts]).c.number))
    return totals.all_rows(parts[0]) if _is_bounded(filters) else totals.up_to_cap(parts[0])


def _apart(filters: OperationFilter, scopes: tuple[Scope, ...]) -> Sequence[tuple[Scope, ...]]:
    """The scopes by themselves, where history is looked at: each has an index, and SQLite takes none for any of them.

    Of many together each is asked so often that one look at all is less.
    """
    if _is_bounded(filters) or not 1 < len(scopes) <= MOST_APART:
        return [scopes]
    return [(scope,) for scope in scopes]


def _is_bounded(filters: OperationFilter) -> bool:
    return filters.only_open or filters.query is not None


@lru_cache(maxsize=500)
def _choices(scopes: tuple[Scope, ...]) -> Select[*tuple[Any, ...]]:
    columns = (Operation.type, Operation.tenant, Operation.destination)
    return select(*columns).where(open_in_scope(scopes)).group_by(*grouped(columns))


def _visible(filters: OperationFilter, scopes: Sequence[Scope]) -> ColumnElement[bool]:
    if filters.only_open:
        return open_in_scope(scopes)
    if filters.query:
        return in_scope(scopes, tenant=narrowing(Operation.tenant), type=narrowing(Operation.type))
    return in_scope(scopes)


def _among(filters: OperationFilter) -> list[ColumnElement[bool]]:
    # What is searched for has an index of its own, and so has open work.
    narrow = narrowing if filters.only_open or filters.query else by_its_index
    states = frozenset(state.value for state in filters.states)
    required = zip(REQUIRED, (states, filters.types, filters.tenants, filters.destinations), strict=True)
    optional = zip(OPTIONAL, (filters.verdicts, filters.causes, filters.currencies), strict=True)
    # Nearly all of history is confirmed: that finds nothing, it only leaves out.
    by_state = narrowing if State.CONFIRMED in filters.states else narrow
    found: list[ColumnElement[bool]] = [
        (by_state if column is Operation.state else narrow)(column).in_(sorted(values))
        for column, values in required
        if values
    ]
    found += [_among_or_none(narrow(maybe), values) for maybe, values in optional if values]
    if filters.whys:
        found.append(any_why(filters.whys))
    if filters.assigned_to:
        holder = narrow(Operation.assigned_to)
        found.append(holder.is_(None) if filters.assigned_to == UNASSIGNED else holder == filters.assigned_to)
    return found


def _among_or_none(column: ColumnElement[Any], values: frozenset[str]) -> ColumnElement[bool]:
    """A condition that an index can follow: an OR only where both a value and `none` are asked for."""
    known = sorted(values - {NONE})
    if not known:
        return column.is_(None)
    return or_(column.in_(known), column.is_(None)) if NONE in values else column.in_(known)


def _times(filters: OperationFilter, *, now: Moment) -> list[ColumnElement[bool]]:
    created = narrowing(Operation.created_at) if filters.query else Operation.created_at
    found = _ages(filters, now=now) if isinstance(now, datetime) else []
    if filters.created_from:
        found.append(created >= filters.created_from)
    if filters.created_to:
        found.append(created < filters.created_to)
    if filters.confirmed_from:
        found.append(Operation.confirmed_at >= filters.confirmed_from)
    if filters.confirmed_to:
        found.append(Operation.confirmed_at < filters.confirmed_to)
    return found


def _ages(filters: OperationFilter, *, now: datetime) -> list[ColumnElement[bool]]:
    found: list[ColumnElement[bool]] = []
    if filters.min_age is not None:
        found.append(Operation.created_at <= now - filters.min_age)
    if filters.max_age is not None:
        found.append(Operation.created_at > now - filters.max_age)
    if filters.age_windows:
        found.append(any_window(filters.age_windows, windows=filters.windows, now=now))
    return found
