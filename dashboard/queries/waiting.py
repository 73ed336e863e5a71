"""What waits for a person, as the navigation of every page says it: one statement, whose work is bounded."""

from datetime import datetime
from functools import lru_cache
from typing import NamedTuple

from sqlalchemy import ColumnElement, Select, func, literal_column, select
from sqlalchemy.orm import Session

from dashboard.db import rows
from dashboard.domain.alerting import sight
from dashboard.domain.permissions import Actor, Permission, scopes
from dashboard.domain.states import State
from dashboard.models import Operation
from dashboard.queries import bulk, proposals
from dashboard.queries.alerts import counted_firing
from dashboard.queries.moments import NOW, Moment
from dashboard.queries.open_rows import open_in_scope

# A page counts no further: beyond it only the list says how many there are.
CAP = 1_000
# Each of these is compared with the silences.
ALERTS_CAP = 100


class Waiting(NamedTuple):
    """Alerts that fire (at most 100), operations that need a person (at most 1,000), and what waits for this one."""

    alerts: int
    exceptions: int
    proposals: int
    plans: int


def waiting(session: Session, actor: Actor, *, now: datetime) -> Waiting:
    """Count what waits for this person at this moment."""
    row = rows(session, _statement(actor.bare), {"now": now}).one()
    return Waiting(*(int(count) for count in row))


@lru_cache(maxsize=1_000)
def _statement(actor: Actor) -> Select[*tuple[int, ...]]:
    counted = (
        counted_firing(sight=sight(actor.grants), now=NOW, most=ALERTS_CAP),
        _exceptions(actor, now=NOW),
        proposals.counted_waiting(actor, now=NOW),
        bulk.counted_waiting(scopes=scopes(actor.grants, Permission.APPROVE), person=actor.id),
    )
    return select(*(each.scalar_subquery() for each in counted))


def _exceptions(actor: Actor, *, now: Moment) -> Select[int]:
    one: ColumnElement[int] = literal_column("1")
    needs_person = (Operation.state == State.MANUAL_REVIEW.value) | (Operation.deadline_at < now)
    visible = open_in_scope(scopes(actor.grants, Permission.BROWSE))
    some = select(one).select_from(Operation).where(visible, needs_person).limit(CAP)
    return select(func.count()).select_from(some.subquery())
