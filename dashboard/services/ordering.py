"""Operations of one entity run in the order of their versions; one that came too late is closed as superseded.

An entity is tenant, type, entity type and entity id. Compensations stand outside: each undoes its own parent, whatever
the entity looks like by now. So do operations without a version.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import ColumnElement, and_, case, func, literal_column, select
from sqlalchemy.orm import InstrumentedAttribute, Session, aliased

from dashboard.domain.states import State
from dashboard.models import Operation

# A literal, not a bound value: performance rule 3.
IS_OPEN: ColumnElement[bool] = literal_column("operations.is_open = 1")
IN_FLIGHT = (State.PROCESSING.value, State.AWAITING_CONFIRMATION.value)


@dataclass(frozen=True)
class Sorted:
    """What may run now, what waits for another version, and what a newer confirmed version made pointless."""

    ready: tuple[Operation, ...]
    waiting: tuple[Operation, ...]
    superseded: tuple[Operation, ...]


def sort_out(session: Session, due: Sequence[Operation]) -> Sorted:
    """Ask, in two queries whatever the number, where each operation stands among the versions of its entity."""
    ordered = [row.id for row in due if row.expected_version is not None and row.parent_id is None]
    if not ordered:
        return Sorted(tuple(due), (), ())
    superseded, overtaking = _newer(session, ordered)
    waiting = (_behind_older(session, ordered) | overtaking) - superseded
    return Sorted(
        ready=tuple(row for row in due if row.id not in superseded | waiting),
        waiting=tuple(row for row in due if row.id in waiting),
        superseded=tuple(row for row in due if row.id in superseded),
    )


def _newer(session: Session, numbers: Sequence[int]) -> tuple[set[int], set[int]]:
    """Which have a newer confirmed version, and which a newer one on its way that must not be overtaken.

    Only newer versions are read, however long the history of older ones.
    """
    due, other = aliased(Operation, name="due"), aliased(Operation, name="newer")
    confirmed = case((other.state == State.CONFIRMED.value, 1), else_=0)
    in_flight = case((other.state.in_(IN_FLIGHT), 1), else_=0)
    # By the index of entity ids: the rest is hidden from indexes, which would hold the whole history of a type.
    same_entity = (
        other.entity_id == due.entity_id,
        other.entity_type == due.entity_type,
        unindexed(other.type) == due.type,
        unindexed(other.tenant) == due.tenant,
        func.coalesce(other.parent_id, 0) == 0,
    )
    rows = session.execute(
        select(due.id, func.max(confirmed).label("confirmed"), func.max(in_flight).label("in_flight"))
        .join(other, and_(*same_entity, other.expected_version > due.expected_version))
        .where(due.id.in_(numbers))
        .group_by(due.id)
    ).all()
    return {row.id for row in rows if row.confirmed}, {row.id for row in rows if row.in_flight}


def _behind_older(session: Session, numbers: Sequence[int]) -> set[int]:
    """Which have an older unfinished version."""
    due, other = aliased(Operation, name="due"), aliased(Operation, name="older")
    # A literal, not a bound value: performance rule 3.
    is_open: ColumnElement[bool] = literal_column("older.is_open = 1")
    same_entity = (
        other.entity_id == due.entity_id,
        other.entity_type == due.entity_type,
        other.type == due.type,
        other.tenant == due.tenant,
        func.coalesce(other.parent_id, 0) == 0,
    )
    rows = session.scalars(
        select(due.id)
        .join(other, and_(is_open, *same_entity, other.expected_version < due.expected_version))
        .where(due.id.in_(numbers))
    )
    return set(rows)


def unindexed(column: InstrumentedAttribute[str]) -> ColumnElement[str]:
    """The column as no index knows it: engines without statistics prefer an index of the whole history."""
    return func.coalesce(column, "")
