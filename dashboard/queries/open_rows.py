"""Open work, read by the indexes over open rows on every engine (performance rules 2 and 3).

SQLite knows nothing of how values are spread. Between an index over open rows that gives the order and one over all of
history that `tenant = ?` fits, it takes the second: 150 ms instead of 0.2 for a queue with 100,000 operations behind,
and fifty times that with five million. So what narrows open work is hidden from the other indexes there.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from sqlalchemy import ColumnElement, and_, literal_column
from sqlalchemy.orm import InstrumentedAttribute

from dashboard.domain.permissions import Scope
from dashboard.models import Operation
from dashboard.queries.scoping import in_scope, narrowing

# A literal, never a bound value: under a generic plan a bound one reads the whole history (performance rule 3).
IS_OPEN: ColumnElement[bool] = literal_column("operations.is_open = 1")


def grouped(columns: Iterable[InstrumentedAttribute[Any]]) -> list[ColumnElement[Any]]:
    """The columns to group open rows by: an index that gives that order is one of all of history as well."""
    return [narrowing(column) for column in columns]


def open_in_scope(scopes: Sequence[Scope]) -> ColumnElement[bool]:
    """A condition that holds for open operations within these scopes."""
    return and_(IS_OPEN, in_scope(scopes, tenant=narrowing(Operation.tenant), type=narrowing(Operation.type)))
