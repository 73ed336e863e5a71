"""Operations of one entity run in the order of their versions; one that came too late is closed as superseded.

An entity is tenant, type, entity type and entity id. Compensations stand outside: each undoes its own parent, whatever
the entity looks like by now. So do operations without a version.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from sqlalchemy import ColumnElement, and_, case, func, literal_column, or_, select
from sqlalchemy.orm import Session

from dashboard.domain.states import State
from dashboard.models import Operation

# A literal, not a bound value: performance rule 3.
IS_OPEN: ColumnElement[bool] = literal_column("operations.is_open = 1")
IN_FLIGHT = (State.PROCESSING.value, State.AWAITING_CONFIRMATION.value)

_ENTITY = (Operation.tenant, Operation.type, Operation.entity_type, Operation.entity_id)
Entity: TypeAlias = tuple[str, str, str, str]


@dataclass(frozen=True)
class Sorted:
    """What may run now, what waits for another version, and what a newer confirmed version made pointless."""

    ready: tuple[Operation, ...]
    waiting: tuple[Operation, ...]
    superseded: tuple[Operation, ...]


@dataclass(frozen=True)
class _Unfinished:
    oldest: int
    newest_in_flight: int | None


def sort_out(session: Session, due: Sequence[Operation]) -> Sorted:
    """Ask, in two queries whatever the number, where each operation stands among the versions of its entity."""
    ordered = [row for row in due if row.expected_version is not None and row.parent_id is None]
    if not ordered:
        return Sorted(tuple(due), (), ())
    confirmed = _newest_confirmed(session, ordered)
    unfinished = _unfinished(session, ordered)
    superseded = [row for row in ordered if _version(row) < confirmed.get(_entity(row), _version(row))]
    waiting = [row for row in ordered if row not in superseded and _must_wait(row, unfinished.get(_entity(row)))]
    ready = [row for row in due if row not in superseded and row not in waiting]
    return Sorted(tuple(ready), tuple(waiting), tuple(superseded))


def _must_wait(operation: Operation, others: _Unfinished | None) -> bool:
    """An older version goes first; one that is already on its way is not overtaken from behind either."""
    if others is None:
        return False
    version = _version(operation)
    return others.oldest < version or (others.newest_in_flight or version) > version


def _newest_confirmed(session: Session, operations: Iterable[Operation]) -> dict[Entity, int]:
    # Bounded from below by each version, so that a long history of older ones is never read.
    newer = or_(
        *(
            and_(Operation.entity_id == row.entity_id, Operation.expected_version > row.expected_version)
            for row in operations
        )
    )
    rows = session.execute(
        select(*_ENTITY, func.max(Operation.expected_version).label("version"))
        .where(newer, Operation.state == State.CONFIRMED.value, Operation.parent_id.is_(None))
        .group_by(*_ENTITY)
    )
    return {(row.tenant, row.type, row.entity_type, row.entity_id): row.version for row in rows}


def _unfinished(session: Session, operations: Iterable[Operation]) -> dict[Entity, _Unfinished]:
    in_flight = case((Operation.state.in_(IN_FLIGHT), Operation.expected_version))
    rows = session.execute(
        select(*_ENTITY, func.min(Operation.expected_version).label("oldest"), func.max(in_flight).label("in_flight"))
        .where(
            IS_OPEN,
            Operation.entity_id.in_({row.entity_id for row in operations}),
            Operation.expected_version.is_not(None),
            Operation.parent_id.is_(None),
        )
        .group_by(*_ENTITY)
    )
    return {
        (row.tenant, row.type, row.entity_type, row.entity_id): _Unfinished(row.oldest, row.in_flight) for row in rows
    }


def _entity(operation: Operation) -> Entity:
    return (operation.tenant, operation.type, operation.entity_type, operation.entity_id)


def _version(operation: Operation) -> int:
    if operation.expected_version is None:
        raise ValueError("an operation without a version has no place in an order")
    return operation.expected_version
