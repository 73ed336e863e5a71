"""Proposals as conditions: which of them stand at this moment, and which wait for a certain person."""

from datetime import datetime

from sqlalchemy import ColumnElement, Select, and_, case, exists, func, or_, select
from sqlalchemy.orm import Session, aliased

from dashboard.domain.actions import ActionName
from dashboard.domain.approval import ActionState
from dashboard.domain.permissions import Actor, Permission, scopes
from dashboard.models import Action, Approval, Operation
from dashboard.queries.moments import Moment
from dashboard.queries.scoping import in_scope

_About = aliased(Operation)
SPECIAL = (Permission.APPROVE_ABOVE_LIMIT, Permission.OVERRIDE)


def standing(now: Moment) -> ColumnElement[bool]:
    """Holds for proposals that can still be approved: whoever meets others first ends them."""
    return and_(Action.state == ActionState.PROPOSED.value, _unchanged(), Action.expires_at > now)


def state_at(now: Moment) -> ColumnElement[str]:
    """The state of an action as it is now, where a proposal has lapsed and nobody has written it down yet."""
    proposed = Action.state == ActionState.PROPOSED.value
    return case(
        (and_(proposed, ~_unchanged()), ActionState.VOID.value),
        (and_(proposed, Action.expires_at <= now), ActionState.EXPIRED.value),
        else_=Action.state,
    )


def in_states(states: frozenset[str], *, now: Moment) -> ColumnElement[bool]:
    """Holds for actions in one of these states as they are now; the stored state narrows them by its index first."""
    stored = set(states)
    if stored & {ActionState.VOID.value, ActionState.EXPIRED.value}:
        stored.add(ActionState.PROPOSED.value)
    return and_(Action.state.in_(sorted(stored)), state_at(now).in_(sorted(states)))


def waiting_for(actor: Actor, *, now: Moment) -> ColumnElement[bool]:
    """Holds for proposals that this person can approve and has not decided about."""
    votes = select(1).where(Approval.action_id == Action.id, Approval.voter == actor.id)
    voted = exists(votes.correlate(Action))
    needs = [or_(~Action.special.contains(name.value), _may(actor, name)) for name in SPECIAL]
    reopens = or_(Action.action != ActionName.REOPEN.value, _may(actor, Permission.REOPEN))
    able = (_may(actor, Permission.APPROVE), _may(actor, Permission.EXECUTE), reopens, *needs)
    return and_(standing(now), Action.requested_by != actor.id, ~voted, *able)


def count_waiting(session: Session, actor: Actor, *, now: datetime) -> int:
    """How many proposals wait for this person."""
    return session.scalar(counted_waiting(actor, now=now)) or 0


def counted_waiting(actor: Actor, *, now: Moment) -> Select[int]:
    """The statement of `count_waiting`, to be part of another one."""
    return select(func.count()).select_from(Action).where(waiting_for(actor, now=now))


def _may(actor: Actor, permission: Permission) -> ColumnElement[bool]:
    return in_scope(scopes(actor.grants, permission), tenant=Action.tenant, type=Action.type)


def _unchanged() -> ColumnElement[bool]:
    same = select(1).where(_About.id == Action.operation_id, _About.revision == Action.revision)
    return exists(same.correlate(Action))
