"""All types of operations a page at a time, those with the most exceptions first."""

import base64
import json
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from dashboard.domain.errors import InvalidInputError, Problem
from dashboard.queries.keyset import Page, Position
from dashboard.queries.open_types import TypeFigures

Place = tuple[int, int, str]


@dataclass(frozen=True)
class Type:
    """A type by its name; `open` is None where none of its operations is open."""

    name: str
    open: TypeFigures | None

    @property
    def place(self) -> Place:
        """Where it stands in the list."""
        return (-self.open.exceptions, -self.open.open, self.name) if self.open else (0, 0, self.name)


def page_of(types: Sequence[Type], position: Position) -> Page:
    """One page of them; raises InvalidInputError on a broken cursor.

    A type that has moved meanwhile may be shown twice or passed over, as in any list that is sorted by what changes.
    """
    rows = sorted(types, key=lambda each: each.place)
    places = [each.place for each in rows]
    if position.before is not None:
        end = bisect_left(places, _read(position.before, field="before"))
        start = max(end - position.limit, 0)
    else:
        start = bisect_right(places, _read(position.after, field="after")) if position.after is not None else 0
        end = min(start + position.limit, len(rows))
    return Page(
        rows[start:end],
        _written(places[end - 1]) if 0 < end < len(rows) else None,
        _written(places[start]) if 0 < start < len(rows) else None,
    )


def _written(place: Place) -> str:
    return base64.urlsafe_b64encode(json.dumps(place).encode()).decode().rstrip("=")


def _read(cursor: str, *, field: str) -> Place:
    try:
        padded = cursor.encode("ascii") + b"=" * (-len(cursor) % 4)
        exceptions, size, name = json.loads(base64.b64decode(padded, altchars=b"-_", validate=True))
    except (ValueError, TypeError, RecursionError) as error:
        raise InvalidInputError((Problem(field, "cursor_invalid"),)) from error
    if not (type(exceptions) is type(size) is int and type(name) is str):
        raise InvalidInputError((Problem(field, "cursor_invalid"),))
    return exceptions, size, name
