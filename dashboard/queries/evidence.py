"""Evidence that came by itself: what there is about one operation, what waits to be judged, and the list of all."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Select, func, select
from sqlalchemy.orm import Session

from dashboard.domain.received import Match, Received, Source
from dashboard.models import EvidenceItem, Operation
from dashboard.queries import keyset, totals
from dashboard.queries.keyset import Page, Position, Sort
from dashboard.queries.totals import Total

# More words than this about one operation are no more telling.
MOST_ABOUT_ONE = 200

_Item = EvidenceItem
NEWEST = Sort("newest", _Item.id, _Item.id, descending=True, read=int)
COLUMNS = (
    _Item.destination,
    _Item.source,
    _Item.match,
    _Item.origin,
    _Item.line,
    _Item.occurred_at,
    _Item.received_at,
    _Item.judged_at,
    _Item.content,
    Operation.operation_id,
)


@dataclass(frozen=True)
class EvidenceFilter:
    """What a list of evidence is narrowed to."""

    matches: frozenset[str] = frozenset()
    destination: str | None = None
    source: str | None = None


def received_about(session: Session, operation_id: str) -> Sequence[Received]:
    """What came about the operation, in the order in which it came; the newest 200."""
    rows = session.execute(
        select(_Item.source, _Item.event_id, _Item.content, _Item.origin, _Item.raw_hash, _Item.line, _Item.occurred_at)
        .join(Operation, Operation.id == _Item.operation_id)
        .where(Operation.operation_id == operation_id, Operation.destination == _Item.destination)
        .order_by(_Item.id.desc())
        .limit(MOST_ABOUT_ONE)
    ).all()
    return [Received(Source(row.source), *row[1:]) for row in reversed(rows)]


def covered_until(session: Session, destination: str) -> datetime | None:
    """Up to when the destination's files reach: the newest time that one of their lines carries."""
    return session.scalar(
        select(func.max(_Item.occurred_at)).where(_Item.destination == destination, _Item.source == Source.FILE.value)
    )


def to_judge(session: Session, *, limit: int) -> Sequence[EvidenceItem]:
    """Matched items that nobody judged yet, the oldest first."""
    return session.scalars(
        select(_Item)
        .where(_Item.match == Match.MATCHED.value, _Item.judged_at.is_(None))
        .order_by(_Item.id)
        .limit(limit)
    ).all()


def unjudged_about(session: Session, number: int) -> Sequence[int]:
    """The items about the operation in this row that nobody judged yet."""
    return session.scalars(select(_Item.id).where(_Item.operation_id == number, _Item.judged_at.is_(None))).all()


def unmatched_since(session: Session, since: datetime, *, limit: int) -> Sequence[EvidenceItem]:
    """The newest items that fitted no operation when they came."""
    return session.scalars(
        select(_Item)
        .where(_Item.match == Match.UNMATCHED.value, _Item.received_at >= since)
        .order_by(_Item.id.desc())
        .limit(limit)
    ).all()


def list_evidence(session: Session, filters: EvidenceFilter, *, position: Position) -> Page:
    """A page of all evidence, the newest first; the grants are the caller's to check."""
    statement: Select[*tuple[Any, ...]] = select(_Item.id).where(*_conditions(filters))
    narrow = keyset.narrow(statement, sort=NEWEST, position=position).subquery("page")
    order = keyset.wide_order(NEWEST, position, key=narrow.c.id, number=narrow.c.id)
    wide = (
        select(_Item.id.label("number"), _Item.id.label("key"), *COLUMNS)
        .join(narrow, narrow.c.id == _Item.id)
        .join(Operation, Operation.id == _Item.operation_id, isouter=True)
        .order_by(*order)
    )
    return keyset.fetch(session, wide, sort=NEWEST, position=position)


def count_evidence(session: Session, filters: EvidenceFilter) -> Total:
    """How many items the list has, counted up to 10,000."""
    return totals.capped(session, select(_Item.id).where(*_conditions(filters)))


def _conditions(filters: EvidenceFilter) -> list[ColumnElement[bool]]:
    found: list[ColumnElement[bool]] = []
    if filters.matches:
        found.append(_Item.match.in_(sorted(filters.matches)))
    if filters.destination:
        found.append(_Item.destination == filters.destination)
    if filters.source:
        found.append(_Item.source == filters.source)
    return found
