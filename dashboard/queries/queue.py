"""The queue of exceptions in groups of what failed alike: one pass over open work, which counts the queue as well."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from functools import lru_cache
from typing import Any, NamedTuple

from sqlalchemy import Select, func, select
from sqlalchemy.orm import Session

from dashboard.domain.permissions import Scope
from dashboard.models import Operation
from dashboard.queries.moments import Moment
from dashboard.queries.open_rows import IS_OPEN, grouped
from dashboard.queries.operations import NONE, OperationFilter, conditions, made

MAX_GROUPS = 12
COLUMNS = (Operation.type, Operation.verdict, Operation.cause)


class Group(NamedTuple):
    """Exceptions that failed alike: their type, verdict and cause (None: none), and how many they are."""

    type: str
    verdict: str | None
    cause: str | None
    size: int

    def fits(self, filters: OperationFilter) -> bool:
        """Tell whether the filter lets it through."""
        optional = ((self.verdict, filters.verdicts), (self.cause, filters.causes))
        among = all(value in _asked(values) for value, values in optional if values)
        return among and (not filters.types or self.type in filters.types)


class Queue(NamedTuple):
    """The largest groups, how many the queue holds in all of them, and in those that a filter lets through."""

    groups: Sequence[Group]
    size: int
    chosen: int


def queue_of(session: Session, filters: OperationFilter, *, scopes: Sequence[Scope], now: datetime) -> Queue:
    """Count the queue; its groups stay whole while one of them is chosen, so that the next one is a click away."""
    everything = replace(filters, types=frozenset(), verdicts=frozenset(), causes=frozenset())
    rows = session.execute(made(_groups, everything, tuple(scopes), now=now), {"now": now})
    found = sorted((Group._make(row) for row in rows), key=_order)
    chosen = sum(group.size for group in found if group.fits(filters))
    return Queue(found[:MAX_GROUPS], sum(group.size for group in found), chosen)


def _asked(values: Iterable[str]) -> set[str | None]:
    return {None if value == NONE else value for value in values}


def _order(group: Group) -> tuple[int, str, str, str]:
    return -group.size, group.type, group.verdict or "", group.cause or ""


@lru_cache(maxsize=500)
def _groups(filters: OperationFilter, scopes: tuple[Scope, ...], now: Moment) -> Select[*tuple[Any, ...]]:
    shown = conditions(filters, scopes=scopes, now=now)
    return select(*COLUMNS, func.count()).where(IS_OPEN, *shown).group_by(*grouped(COLUMNS))
