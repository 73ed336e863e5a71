"""What a person can ask of an operation as it stands, and why not where they cannot."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from sqlalchemy.orm import Session

from dashboard.domain.actions import ActionName, available_actions
from dashboard.domain.approval import ASKING
from dashboard.domain.errors import ConflictError, NotAllowedError, OperationsError, TransitionError
from dashboard.domain.permissions import Actor, allows
from dashboard.domain.states import OPEN, State
from dashboard.domain.verdicts import Verdict
from dashboard.models import Operation
from dashboard.services import claims, compensations
from dashboard.services.action_requests import ActionRequest, may_execute
from dashboard.services.compensations import Existing
from dashboard.services.policies import Policies

# While an effect is being undone, nothing may make it again or call the operation finished.
WAITS_FOR_COMPENSATION = frozenset({ActionName.REQUEUE, ActionName.CONFIRM, ActionName.CLOSE})
# While another compensation undoes the same effect, or has undone it, nothing may lead to a second one.
ONE_COMPENSATION = frozenset({ActionName.REQUEUE, ActionName.REOPEN})
# While it is only unproven that another one had its effect, each may be reopened to be proven, but none is sent.
SENDS_AGAIN = frozenset({ActionName.REQUEUE})


@dataclass(frozen=True)
class Offer:
    """An action, and the refusal that asking for it would meet now; None where it is open."""

    action: ActionName
    refusal: OperationsError | None


class _Compensations(NamedTuple):
    """The compensation of an operation, and where it is one itself, another one of the same effect."""

    own: Existing | None
    rival: Existing | None


def offers(
    session: Session, operation: Operation, *, actor: Actor, policies: Policies, now: datetime
) -> tuple[Offer, ...]:
    """All actions in the order screens offer them; reads the database once, for a compensation twice."""
    found = _find_compensations(session, operation)
    taken = claims.refusal(operation, actor=actor, now=now)
    return tuple(
        Offer(
            action,
            _obstacle(operation, action, found=found, policies=policies)
            or not_allowed(operation, action, actor=actor)
            or taken,
        )
        for action in ActionName
    )


def not_allowed(operation: Operation, action: ActionName, *, actor: Actor) -> NotAllowedError | None:
    """The refusal of a person who may neither propose nor execute this action on this operation, or None."""
    asking = ASKING[action]
    if allows(actor.grants, asking, tenant=operation.tenant, type=operation.type):
        return None
    if may_execute(operation, action, actor=actor):
        return None
    return NotAllowedError(permission=asking.value, action=action.value)


def obstacle(
    session: Session, operation: Operation, request: ActionRequest, *, now: datetime, beside: str | None = None
) -> OperationsError | None:
    """Why the action cannot be done as things stand, the claim of somebody else included; None when it can.

    The claim of who is named by `beside` is in nobody's way: theirs is the proposal.
    """
    found = _find_compensations(session, operation)
    refusal = _obstacle(operation, request.action, found=found, policies=request.policies)
    if refusal or operation.assigned_to == beside:
        return refusal
    return claims.refusal(operation, actor=request.actor, now=now)


def obstacles(
    session: Session,
    operations: Sequence[Operation],
    action: ActionName,
    *,
    actor: Actor,
    policies: Policies,
    now: datetime,
) -> Mapping[int, OperationsError | None]:
    """What `obstacle` says of each of these operations, and `not_allowed` before it, by row number.

    It reads the database once, and again only for those that have to do with a compensation.
    """
    parents = compensations.parents_among(session, [operation.id for operation in operations])

    def refusal(operation: Operation) -> OperationsError | None:
        related = operation.parent_id is not None or operation.id in parents
        found = _find_compensations(session, operation) if related else _Compensations(None, None)
        return (
            not_allowed(operation, action, actor=actor)
            or _obstacle(operation, action, found=found, policies=policies)
            or claims.refusal(operation, actor=actor, now=now)
        )

    return {operation.id: refusal(operation) for operation in operations}


def _find_compensations(session: Session, operation: Operation) -> _Compensations:
    return _Compensations(compensations.in_the_way(session, operation), compensations.rival(session, operation))


def _obstacle(
    operation: Operation, action: ActionName, *, found: _Compensations, policies: Policies
) -> OperationsError | None:
    if action not in available_actions(State(operation.state)):
        return TransitionError(source=operation.state, target=None, trigger=action.value)
    if action is ActionName.REQUEUE and operation.verdict == Verdict.CORRECT:
        return ConflictError("effect_exists", verdict_at=operation.verdict_at)
    if action is ActionName.COMPENSATE and policies.compensation_of(operation.type) is None:
        return ConflictError("compensation_unknown", type=operation.type)
    if found.own and action is ActionName.COMPENSATE:
        return _second(found.own)
    if found.rival and action in (SENDS_AGAIN if found.rival.unproven else ONE_COMPENSATION):
        return _second(found.rival)
    if found.own and found.own.state in OPEN and action in WAITS_FOR_COMPENSATION:
        return ConflictError("compensation_open", **found.own._asdict())
    return None


def _second(first: Existing) -> ConflictError:
    if first.unproven:
        return ConflictError("compensation_unproven", **first._asdict())
    return ConflictError("compensation_exists", **first._asdict())
