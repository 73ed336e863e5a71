"""Pages of a list that lose no row and repeat none, however many share one instant.

A page is asked for by the row before it (`after`) or behind it (`before`). The cursor carries the sort key in
full precision and the row's id as tie-breaker; the condition is written so that all three engines bound their
index scan by it (performance rule 5).
"""

import base64
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation
from typing import Any

from sqlalchemy import (
    BindParameter,
    ColumnElement,
    Result,
    Select,
    SQLColumnExpression,
    Subquery,
    and_,
    bindparam,
    or_,
    select,
    union,
)
from sqlalchemy.orm import Session

from dashboard.db import rows
from dashboard.domain.errors import InvalidInputError, Problem

DEFAULT_LIMIT = 50
MAX_LIMIT = 200
LARGEST_NUMBER = 2**63 - 1
MOST_DIGITS = 40
CURSOR = "cursor"


@dataclass(frozen=True)
class Sort:
    """An order of a list: by `key`, then by `number`; `read` turns the cursor's text back into a key."""

    name: str
    key: SQLColumnExpression[Any]
    number: SQLColumnExpression[int]
    descending: bool
    read: Callable[[str], Any]


@dataclass(frozen=True)
class Position:
    """Where a page begins (`after` a row) or ends (`before` a row), as cursors from an earlier page."""

    after: str | None = None
    before: str | None = None
    limit: int = DEFAULT_LIMIT

    @property
    def shape(self) -> "Position":
        """The same position at any row: all that the text of a statement depends on."""
        return Position(self.after and CURSOR, self.before and CURSOR, self.limit)


@dataclass(frozen=True)
class Page:
    """Rows in the order of the list, with the cursors of the pages around it; None where there is none."""

    rows: Sequence[Any]
    next: str | None
    previous: str | None


def read_time(text: str) -> datetime:
    """A cursor's timestamp; raises ValueError on anything but an aware one."""
    value = datetime.fromisoformat(text)
    if value.tzinfo is None:
        raise ValueError("a cursor's time needs a zone")
    return value.astimezone(UTC)


def read_decimal(text: str) -> Decimal:
    """A cursor's amount; raises ValueError on anything but a finite number that every engine can hold."""
    try:
        value = Decimal(text)
    except InvalidOperation as error:
        raise ValueError(text) from error
    if not value.is_finite() or abs(value.adjusted()) > MOST_DIGITS:
        raise ValueError(text)
    return value


def narrow(statement: Select[*tuple[Any, ...]], *, sort: Sort, position: Position) -> Select[*tuple[Any, ...]]:
    """Limit a select of (number, key) to one row more than the page, so that the next page is known to exist.

    Where the page begins is a parameter, which `fetch` fills in: a statement can be kept for all positions of a shape.
    """
    descending = sort.descending != (position.before is not None)
    if position.before or position.after:
        statement = statement.where(_beyond(sort, descending=descending))
    order = (sort.key.desc(), sort.number.desc()) if descending else (sort.key.asc(), sort.number.asc())
    return statement.order_by(*order).limit(position.limit + 1)


def fetch(
    session: Session,
    statement: Select[*tuple[Any, ...]],
    *,
    sort: Sort,
    position: Position,
    values: Mapping[str, Any] | None = None,
    ask: Callable[..., Result[*tuple[Any, ...]]] = rows,
) -> Page:
    """Run the wide select (columns `number` and `key` among its own) and put the page together.

    `values` are those of parameters that the statement has besides; one for entities is asked by `Session.execute`.
    Raises InvalidInputError where the cursor does not fit.
    """
    found = list(ask(session, statement, {**_cursor(sort, position), **(values or {})}))
    more = len(found) > position.limit
    found = found[: position.limit]
    backwards = position.before is not None
    if backwards:
        found.reverse()
    if not found:
        return Page([], None, None)
    has_next = backwards or more
    has_previous = more if backwards else position.after is not None
    return Page(
        found,
        encode(sort, found[-1]) if has_next else None,
        encode(sort, found[0]) if has_previous else None,
    )


def together(parts: Sequence[Select[*tuple[Any, ...]]]) -> Subquery:
    """The rows of selects that each an index bounds, each row once: no engine does that for conditions joined by OR."""
    if len(parts) == 1:
        return parts[0].subquery("page")
    # A part has an order and a limit of its own, which not every engine takes inside of a UNION.
    wrapped = [select(part.subquery(f"part{number}")) for number, part in enumerate(parts)]
    return union(*wrapped).subquery("page")


def wide_order(sort: Sort, position: Position, *, key: ColumnElement[Any], number: ColumnElement[Any]) -> list[Any]:
    """The order of the wide select that joins the narrow one."""
    if sort.descending != (position.before is not None):
        return [key.desc(), number.desc()]
    return [key.asc(), number.asc()]


def encode(sort: Sort, row: Any) -> str:
    """An opaque cursor for a row that has `key` and `number`."""
    key = row.key.isoformat() if isinstance(row.key, datetime) else str(row.key)
    return base64.urlsafe_b64encode(json.dumps([sort.name, key, row.number]).encode()).decode().rstrip("=")


def decode(cursor: str, *, sort: Sort, field: str) -> tuple[Any, int]:
    """The key and number in a cursor; InvalidInputError where it is broken or belongs to another order."""
    try:
        padded = cursor.encode("ascii") + b"=" * (-len(cursor) % 4)
        name, key, number = json.loads(base64.b64decode(padded, altchars=b"-_", validate=True))
        value = sort.read(key)
    except (ValueError, TypeError, OverflowError, RecursionError) as error:
        raise InvalidInputError((Problem(field, "cursor_invalid"),)) from error
    numbers = [number, value] if isinstance(value, int) else [number]
    if name != sort.name or not all(type(each) is int and 0 <= each <= LARGEST_NUMBER for each in numbers):
        raise InvalidInputError((Problem(field, "cursor_invalid"),))
    return value, number


def _cursor(sort: Sort, position: Position) -> dict[str, Any]:
    """The values of the parameters that `narrow` leaves open."""
    cursor = position.before or position.after
    if not cursor:
        return {}
    key, number = decode(cursor, sort=sort, field="before" if position.before else "after")
    return {"cursor_key": key, "cursor_number": number}


def _beyond(sort: Sort, *, descending: bool) -> ColumnElement[bool]:
    # Each takes the type of the column beside it.
    key: BindParameter[Any] = bindparam("cursor_key")
    number: BindParameter[int] = bindparam("cursor_number")
    if descending:
        return and_(sort.key <= key, or_(sort.key < key, sort.number < number))
    return and_(sort.key >= key, or_(sort.key > key, sort.number > number))
