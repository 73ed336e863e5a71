"""What an action would do, before anybody decides."""

from dataclasses import dataclass, replace
from datetime import datetime

from sqlalchemy.orm import Session

from dashboard.db import clock
from dashboard.domain.actions import OVERRIDE, REASON_CODES, ActionName
from dashboard.domain.approval import Demand
from dashboard.domain.errors import OperationsError, TransitionError
from dashboard.domain.proof import Proof
from dashboard.domain.risk import RiskAssessment
from dashboard.domain.states import State, Trigger, targets
from dashboard.models import Action, Operation
from dashboard.services import compensations, offers
from dashboard.services.action_requests import ActionRequest, assess, demand, find
from dashboard.services.proofs import proof_for, unproven


@dataclass(frozen=True)
class Preview:
    """What an action would do; `refusal` says why it cannot be done as things stand.

    `proof` is what is known of the effect where the action would make it again, and `demand` who must agree.
    """

    operation: Operation
    action: ActionName
    target: State | None
    reasons: tuple[str, ...]
    risk: RiskAssessment
    compensation: compensations.Plan | None
    proof: Proof | None
    demand: Demand
    refusal: OperationsError | None
    now: datetime


def preview(session: Session, request: ActionRequest, *, beside: str | None = None) -> Preview:
    """Look at what an action would do; raises NotFoundError and NotAllowedError, never changes anything.

    The claim of who is named by `beside` is in nobody's way.
    """
    now = clock(session)
    action, policies = request.action, request.policies
    operation = find_allowed(session, request)
    proof = proof_for(session, operation, action, policies=policies, now=now)
    reasons = reasons_for(action, proof)
    return Preview(
        operation=operation,
        action=action,
        target=_target(State(operation.state), action),
        reasons=reasons,
        risk=assess(operation, action, policies=policies, now=now),
        compensation=compensations.planned(session, operation, action, policies=policies),
        proof=proof,
        demand=demand(operation, request, reason_code=reasons[0] if len(reasons) == 1 else "", amount=None),
        refusal=offers.obstacle(session, operation, request, now=now, beside=beside),
        now=now,
    )


def preview_proposal(session: Session, request: ActionRequest, proposal: Action) -> Preview:
    """Look at what carrying out a proposal would do now, as `actions.execute` would do or refuse it."""
    shown = preview(session, request, beside=proposal.requested_by)
    compensation = shown.compensation
    if compensation and proposal.amount:
        compensation = replace(compensation, amount=proposal.amount)
    refusal = shown.refusal or unproven(shown.proof, reason_code=proposal.reason_code)
    return replace(shown, compensation=compensation, refusal=refusal)


def find_allowed(session: Session, request: ActionRequest) -> Operation:
    """The operation, if the person may ask for the action on it; raises NotFoundError and NotAllowedError."""
    operation = find(session, actor=request.actor, operation_id=request.operation_id)
    refusal = offers.not_allowed(operation, request.action, actor=request.actor)
    if refusal:
        raise refusal
    return operation


def reasons_for(action: ActionName, proof: Proof | None) -> tuple[str, ...]:
    """The reasons a person may give: without proof, only that they override it."""
    if proof and proof.needs_override:
        return (OVERRIDE,)
    return tuple(code for code in REASON_CODES[action] if code != OVERRIDE)


def _target(state: State, action: ActionName) -> State | None:
    try:
        return targets(state, trigger=Trigger(action.value))
    except TransitionError:
        return None
