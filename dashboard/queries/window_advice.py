"""How long operations took from sending to confirmation: the newest 2,000 of a type, through an index.

A confirmation that the reconciler found is as late as its look: the times are upper bounds there.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, Select, and_, func, or_, select
from sqlalchemy.orm import Session, aliased

from dashboard.domain.permissions import Scope
from dashboard.domain.states import EventKind, State
from dashboard.domain.survival import Duration
from dashboard.models import Operation, OperationEvent
from dashboard.queries.scoping import in_scope

DAYS = timedelta(days=30)
NEWEST = 2000
# While it is in one of these, a confirmation may still come by itself.
WAITING = frozenset({State.PROCESSING, State.AWAITING_CONFIRMATION, State.RETRY_SCHEDULED})

_Event = OperationEvent


def durations(session: Session, operation_type: str, *, scopes: Sequence[Scope], now: datetime) -> list[Duration]:
    """The times of the last 30 days within the grants; what is not confirmed is censored, what was never sent left out.

    Sent is what the last event before the confirmation says: the change out of `processing` towards waiting, an
    attempt, or, where the answer came at once, the claim.
    """
    rows = session.execute(statement(operation_type, scopes=scopes, since=now - DAYS))
    return [_duration(row, now) for row in rows if row.sent_at is not None]


def statement(operation_type: str, *, scopes: Sequence[Scope], since: datetime) -> Select[*tuple[Any, ...]]:
    """One look-up in the events for each of the newest operations; the grants are checked among these.

    The newest are read in one go: a join back to the table is what makes a planner read all of it.
    """
    newest = (
        select(Operation)
        .where(Operation.type == operation_type, Operation.created_at >= since)
        .order_by(Operation.created_at.desc(), Operation.id.desc())
        .limit(NEWEST)
        .subquery("newest")
    )
    one = aliased(Operation, newest)
    return select(one.state, one.state_since, one.confirmed_at, _sent_at(one).label("sent_at")).where(
        in_scope(scopes, tenant=one.tenant, type=one.type)
    )


def _sent_at(one: Any) -> Any:
    before = or_(one.confirmed_at.is_(None), _Event.at < one.confirmed_at)
    return (
        select(func.max(_Event.at)).where(_Event.operation_id == one.id, _is_sending(), before).correlate(one)
    ).scalar_subquery()


def _is_sending() -> ColumnElement[bool]:
    waiting = (State.AWAITING_CONFIRMATION.value, State.RETRY_SCHEDULED.value)
    return or_(
        _Event.kind == EventKind.ATTEMPT.value,
        and_(
            _Event.kind == EventKind.TRANSITION.value,
            or_(
                _Event.to_state == State.PROCESSING.value,
                and_(_Event.from_state == State.PROCESSING.value, _Event.to_state.in_(waiting)),
            ),
        ),
    )


def _duration(row: Any, now: datetime) -> Duration:
    if row.state == State.CONFIRMED and row.confirmed_at is not None:
        return Duration(max(row.confirmed_at - row.sent_at, timedelta()))
    until = now if row.state in WAITING else row.state_since
    return Duration(max(until - row.sent_at, timedelta()), censored=True)
