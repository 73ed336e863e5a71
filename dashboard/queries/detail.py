"""Everything beside an operation's row that its page shows, in a number of queries that does not depend on the rows."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any

from sqlalchemy import Select, bindparam, or_, select
from sqlalchemy.orm import Session

from dashboard.db import rows
from dashboard.domain.permissions import Scope
from dashboard.models import Operation
from dashboard.queries.actions import actions_of
from dashboard.queries.history import TIMELINE_LIMIT, Probe, TimelineEntry, last_probe, timeline
from dashboard.queries.idempotency import records_of
from dashboard.queries.moments import NUMBER
from dashboard.queries.scoping import in_scope, narrowing

MAX_CHILDREN = 20


@dataclass(frozen=True)
class Detail:
    """The history (newest first, `more` where it goes on), the last probe, and what belongs to the operation."""

    timeline: Sequence[TimelineEntry]
    more: bool
    probe: Probe | None
    records: Sequence[Any]
    parent: Any | None
    children: Sequence[Any]
    actions: Sequence[Any]


def detail_of(session: Session, operation: Operation, *, scopes: Sequence[Scope], now: datetime) -> Detail:
    """Read what the page of an operation shows; what lies outside the grants is left out."""
    entries = timeline(session, operation.id, limit=TIMELINE_LIMIT + 1)
    family = _family(session, operation, scopes=scopes)
    return Detail(
        timeline=entries[:TIMELINE_LIMIT],
        more=len(entries) > TIMELINE_LIMIT,
        probe=last_probe(session, operation.id),
        records=[
            record
            for record in records_of(session, operation)
            if any(scope.includes(tenant=record.tenant, type=record.operation) for scope in scopes)
        ],
        parent=next((row for row in family if row.id == operation.parent_id), None),
        children=[row for row in family if row.parent_id == operation.id],
        actions=actions_of(session, operation.id, scopes=scopes, now=now),
    )


def _family(session: Session, operation: Operation, *, scopes: Sequence[Scope]) -> Sequence[Any]:
    values = {"number": operation.id, "parent": operation.parent_id}
    return rows(session, _related(tuple(scopes)), values).all()


@lru_cache(maxsize=500)
def _related(scopes: tuple[Scope, ...]) -> Select[*tuple[Any, ...]]:
    columns = (
        Operation.id,
        Operation.parent_id,
        Operation.operation_id,
        Operation.type,
        Operation.entity_type,
        Operation.entity_id,
        Operation.state,
    )
    related = or_(Operation.parent_id == NUMBER, Operation.id == bindparam("parent"))
    # By the number itself SQLite would go through all operations for the few that are looked up.
    in_order = narrowing(Operation.id).desc()
    return select(*columns).where(related, in_scope(scopes)).order_by(in_order).limit(MAX_CHILDREN + 1)
