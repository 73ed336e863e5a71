"""Which operations the reconciler has to look at now, in the order in which they fell due.

The pages are cut by keyset from the index over open work, so a pass costs what is due and not what is stored.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import NamedTuple

from sqlalchemy import ColumnElement, SQLColumnExpression, and_, func, or_, select
from sqlalchemy.orm import Session

from dashboard.db import Database, reading
from dashboard.domain.policy import Policies
from dashboard.domain.states import State
from dashboard.models import Operation
from dashboard.queries.open_rows import IS_OPEN, grouped
from dashboard.queries.scoping import narrowing

PAGE = 200


class Due(NamedTuple):
    """An operation to look at: its row number, and what decides whether it is its turn."""

    number: int
    type: str
    destination: str


@dataclass
class Selection:
    """What a pass selects; `full_types` and `away` (destinations) grow while it runs and are left out from then on.

    With `window` everything that has waited that long is due, whatever its next look says.
    """

    now: datetime
    policies: Policies
    only_type: str | None = None
    window: timedelta | None = None
    full_types: set[str] = field(default_factory=set)
    away: set[str] = field(default_factory=set)


_Key = tuple[datetime, int]


def due(database: Database, chosen: Selection) -> Iterator[Due]:
    """Give what is due, page by page: first what has its time for the next look, then what was never looked at."""
    for scheduled in (True, False):
        after: _Key | None = None
        while True:
            with reading(database) as session:
                page = _page(session, chosen, scheduled=scheduled, after=after)
            for key_time, row in page:
                if row.type not in chosen.full_types and row.destination not in chosen.away:
                    yield row
                after = (key_time, row.number)
            if len(page) < PAGE:
                break


def has_due(database: Database, chosen: Selection) -> bool:
    """Whether anything is due at all."""
    return next(due(database, chosen), None) is not None


def count_due(database: Database, chosen: Selection) -> int:
    """How many operations are due now, for a progress that knows its end."""
    with reading(database) as session:
        return sum(
            session.scalar(select(func.count()).select_from(Operation).where(*_conditions(chosen, scheduled=scheduled)))
            or 0
            for scheduled in (True, False)
        )


def due_since(session: Session, chosen: Selection) -> datetime | None:
    """Since when something is due for a look; None where nothing is."""
    scheduled = select(func.min(Operation.next_attempt_at)).where(*_conditions(chosen, scheduled=True))
    others = (
        select(Operation.type, func.min(Operation.state_since).label("since"))
        .where(*_conditions(chosen, scheduled=False))
        .group_by(*grouped([Operation.type]))
    )
    found = [row.since + chosen.policies.of(row.type).window.after for row in session.execute(others)]
    return min((at for at in (session.scalar(scheduled), *found) if at is not None), default=None)


def newer_confirmed(session: Session, operation: Operation) -> bool:
    """Whether the same entity already holds a newer version that is confirmed; compensations stand outside."""
    if operation.expected_version is None or operation.parent_id is not None:
        return False
    found = session.scalar(
        select(Operation.id)
        .where(
            Operation.entity_id == operation.entity_id,
            Operation.tenant == operation.tenant,
            Operation.type == operation.type,
            Operation.entity_type == operation.entity_type,
            Operation.state == State.CONFIRMED.value,
            Operation.expected_version > operation.expected_version,
            Operation.parent_id.is_(None),
        )
        .limit(1)
    )
    return found is not None


def _page(session: Session, chosen: Selection, *, scheduled: bool, after: _Key | None) -> list[tuple[datetime, Due]]:
    # A look moves the time of the next one: where that time does not choose the rows, it must not order them.
    key = Operation.next_attempt_at if scheduled and chosen.window is None else Operation.created_at
    statement = (
        select(key.label("key_time"), Operation.id, Operation.type, Operation.destination)
        .where(*_conditions(chosen, scheduled=scheduled))
        .order_by(key, Operation.id)
        .limit(PAGE)
    )
    if after:
        at, number = after
        statement = statement.where(and_(key >= at, or_(key > at, Operation.id > number)))
    return [(row.key_time, Due(row.id, row.type, row.destination)) for row in session.execute(statement)]


def _conditions(chosen: Selection, *, scheduled: bool) -> list[ColumnElement[bool]]:
    return [
        IS_OPEN,
        Operation.state == State.AWAITING_CONFIRMATION.value,
        or_(Operation.lease_until.is_(None), Operation.lease_until <= chosen.now),
        *_its_turn(chosen, scheduled=scheduled),
        *_left_in(chosen),
    ]


def _its_turn(chosen: Selection, *, scheduled: bool) -> list[ColumnElement[bool]]:
    named = Operation.next_attempt_at.is_not(None) if scheduled else Operation.next_attempt_at.is_(None)
    if chosen.window is not None:
        return [named, Operation.state_since <= chosen.now - chosen.window]
    if scheduled:
        return [named, Operation.next_attempt_at <= chosen.now]
    return [named, _waited_long_enough(chosen)]


def _waited_long_enough(chosen: Selection) -> ColumnElement[bool]:
    """Past the window of its type; types that share a window share a condition."""
    default = chosen.policies.defaults.window.after
    by_window: dict[timedelta, list[str]] = {}
    for name, policy in chosen.policies.types.items():
        if policy.window.after != default:
            by_window.setdefault(policy.window.after, []).append(name)
    others = [name for names in by_window.values() for name in names]
    parts = [and_(Operation.type.not_in(others), Operation.state_since <= chosen.now - default)]
    parts += [
        and_(Operation.type.in_(names), Operation.state_since <= chosen.now - after)
        for after, names in by_window.items()
    ]
    return or_(*parts)


def _left_in(chosen: Selection) -> list[ColumnElement[bool]]:
    found: list[ColumnElement[bool]] = []
    if chosen.only_type is not None:
        found.append(narrowing(Operation.type) == chosen.only_type)
    found += _none_of(Operation.type, chosen.full_types)
    found += _none_of(Operation.destination, chosen.away)
    return found


def _none_of(column: SQLColumnExpression[str], values: Collection[str]) -> list[ColumnElement[bool]]:
    return [column.not_in(sorted(values))] if values else []
