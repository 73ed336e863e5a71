"""What a person can ask of an operation as it stands, and why not where they cannot."""

from dataclasses import dataclass
from typing import NamedTuple

from sqlalchemy.orm import Session

from dashboard.domain.actions import ActionName, available_actions
from dashboard.domain.errors import NotAllowedError, OperationsError, TransitionError
from dashboard.domain.permissions import ACTION_PERMISSION, Actor, allows
from dashboard.domain.states import OPEN, State
from dashboard.models import Operation
from dashboard.services import compensations
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


def offers(session: Session, operation: Operation, *, actor: Actor, policies: Policies) -> tuple[Offer, ...]:
    """All actions in the order screens offer them; reads the database once, for a compensation twice."""
    found = _find_compensations(session, operation)
    return tuple(
        Offer(
            action,
            _obstacle(operation, action, found=found, policies=policies) or not_allowed(operation, action, actor=actor),
        )
        for action in ActionName
    )


def not_allowed(operation: Operation, action: ActionName, *, actor: Actor) -> NotAllowedError | None:
    """The refusal of a person whose grants do not reach this action on this operation, or None."""
    permission = ACTION_PERMISSION[action]
    if allows(actor.grants, permission, tenant=operation.tenant, type=operation.type):
        return None
    return NotAllowedError(permission=permission.value, action=action.value)


def obstacle(
    session: Session, operation: Operation, action: ActionName, *, policies: Policies
) -> OperationsError | None:
    """Why the action cannot be done as things stand, whoever asks; None when it can."""
    return _obstacle(operation, action, found=_find_compensations(session, operation), policies=policies)


def _find_compensations(session: Session, operation: Operation) -> _Compensations:
    return _Compensations(compensations.in_the_way(session, operation), compensations.rival(session, operation))


def _obstacle(
    operation: Operation, action: ActionName, *, found: _Compensations, policies: Policies
) -> OperationsError | None:
    if action not in available_actions(State(operation.state)):
        return TransitionError(source=operation.state, target=None, trigger=action.value)
    if action is ActionName.COMPENSATE and policies.compensation_of(operation.type) is None:
        return OperationsError("compensation_unknown", type=operation.type)
    if found.own and action is ActionName.COMPENSATE:
        return _second(found.own)
    if found.rival and action in (SENDS_AGAIN if found.rival.unproven else ONE_COMPENSATION):
        return _second(found.rival)
    if found.own and found.own.state in OPEN and action in WAITS_FOR_COMPENSATION:
        return OperationsError("compensation_open", **found.own._asdict())
    return None


def _second(first: Existing) -> OperationsError:
    if first.unproven:
        return OperationsError("compensation_unproven", **first._asdict())
    return OperationsError("compensation_exists", **first._asdict())
