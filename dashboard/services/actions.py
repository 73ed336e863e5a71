"""The one way in which a person changes an operation, whether by screen, API, command or plan.

`preview` says what an action would do and how risky it is; `perform` does it, once, with evidence, or proposes it
where second people must agree, and writes an audit entry whether it was done or refused. `perform_in` is the same
in a transaction of the caller's, and `execute` carries out what was approved.
"""

from dataclasses import replace
from datetime import datetime

from sqlalchemy import select
from sqlalchemy.orm import Session

from dashboard.db import Database, clock
from dashboard.domain.actions import FORM_KEY, ActionName, Evidence, check_evidence
from dashboard.domain.errors import InvalidInputError, LostRaceError, OperationsError, Problem
from dashboard.domain.permissions import Actor
from dashboard.domain.proof import Proof
from dashboard.models import Action, Operation
from dashboard.queries.history import last_change
from dashboard.services import compensations, decisions, offers, proposals
from dashboard.services.action_requests import ActionForm, ActionRequest, Performed, assess, demand, find
from dashboard.services.policies import Policies
from dashboard.services.previews import Preview, find_allowed, preview, preview_proposal, reasons_for
from dashboard.services.proofs import proof_for, unproven
from dashboard.services.refusals import Attempt, attempt

__all__ = [
    "ActionForm",
    "ActionRequest",
    "Performed",
    "Preview",
    "assess",
    "execute",
    "find",
    "perform",
    "perform_in",
    "preview",
    "preview_proposal",
]


def perform(database: Database, request: ActionRequest, form: ActionForm) -> Performed:
    """Do or propose the action, once, and audit it; a refusal is audited as well and then raised.

    Raises NotFoundError, NotAllowedError, InvalidInputError, TransitionError and LostRaceError, and
    OperationsError where a compensation, a claim or an effect that exists stands in the way. Sending the same form
    again gives the first result and changes nothing.
    """
    tried = Attempt(request.actor, request.action.value, request.operation_id, form.note, form.reason_code)
    return attempt(database, tried, lambda session: perform_in(session, request, form))


def perform_in(
    session: Session,
    request: ActionRequest,
    form: ActionForm,
    *,
    approved_by: tuple[str, ...] = (),
    plan_id: int | None = None,
) -> Performed:
    """Do or propose the action in the caller's transaction, which also audits a refusal (see `refusals.attempt`).

    `plan_id` is the plan that this is part of, and `approved_by` are the people who agreed to it: whoever gives them
    has checked that they are enough for this very action.
    """
    operation = find_allowed(session, request)
    if not FORM_KEY.fullmatch(form.idempotency_key):
        raise InvalidInputError((Problem("idempotency_key", "key_invalid"),))
    earlier = _earlier(session, operation, request, form)
    if earlier:
        return earlier
    evidence = _checked(request.action, form)
    try:
        return _do(session, operation, request, form=form, evidence=evidence, approved_by=approved_by, plan_id=plan_id)
    except OperationsError as refusal:
        # The same form, sent twice at once, meets here: what stands in its way may be what the first has done.
        session.expire_all()
        earlier = _earlier(session, operation, request, form)
        if earlier:
            return earlier
        if isinstance(refusal, LostRaceError):
            raise _lost_race(session, operation) from None
        raise


def execute(
    session: Session,
    operation: Operation,
    proposal: Action,
    *,
    actor: Actor,
    policies: Policies,
    approved_by: tuple[str, ...],
) -> Performed:
    """Carry out a proposal that enough people agreed to, in the transaction of the last vote.

    Raises what `perform` raises: everything is checked again as it is now.
    """
    request = ActionRequest(actor, operation.operation_id, ActionName(proposal.action), policies)
    evidence = Evidence(proposal.reason_code, proposal.note, proposal.reference)
    now = _ready(session, operation, request, beside=proposal.requested_by)
    proof = proof_for(session, operation, request.action, policies=policies, now=now)
    if refusal := unproven(proof, reason_code=evidence.reason_code):
        raise refusal
    decision = replace(
        _decision(operation, request, evidence=evidence, now=now),
        idempotency_key=proposal.idempotency_key,
        amount=proposal.amount,
        proposal=proposal,
        approved_by=approved_by,
    )
    return _carry_out(session, operation, request, decision)


def _do(
    session: Session,
    operation: Operation,
    request: ActionRequest,
    *,
    form: ActionForm,
    evidence: Evidence,
    approved_by: tuple[str, ...],
    plan_id: int | None,
) -> Performed:
    if operation.revision != form.revision:
        raise LostRaceError(operation_id=operation.operation_id)
    now = _ready(session, operation, request)
    proof = proof_for(session, operation, request.action, policies=request.policies, now=now)
    if evidence.reason_code not in reasons_for(request.action, proof):
        raise InvalidInputError((_proof_problem(proof),))
    amount = compensations.part_of(operation, request.action, form.amount, policies=request.policies)
    decision = replace(
        _decision(operation, request, evidence=evidence, now=now),
        idempotency_key=form.idempotency_key,
        amount=amount,
        approved_by=approved_by,
        plan_id=plan_id,
    )
    needed = demand(operation, request, reason_code=evidence.reason_code, amount=amount)
    if needed.approvals and not approved_by:
        stored = proposals.propose(session, operation, decision, needed, policies=request.policies)
        return Performed(stored.id, operation.operation_id, request.action, None, state=stored.state)
    return _carry_out(session, operation, request, decision)


def _ready(session: Session, operation: Operation, request: ActionRequest, *, beside: str | None = None) -> datetime:
    """The time, if nothing stands in the way of the action now; else its refusal is raised."""
    now = clock(session)
    refusal = offers.obstacle(session, operation, request, now=now, beside=beside)
    if refusal:
        raise refusal
    return now


def _carry_out(
    session: Session, operation: Operation, request: ActionRequest, decision: decisions.Decision
) -> Performed:
    planned = compensations.planned(
        session, operation, request.action, policies=request.policies, amount=decision.amount
    )
    stored, child = decisions.carry_out(session, operation, decision, compensation=planned)
    return Performed(stored.id, operation.operation_id, request.action, child.operation_id if child else None)


def _decision(operation: Operation, request: ActionRequest, *, evidence: Evidence, now: datetime) -> decisions.Decision:
    return decisions.Decision(
        actor=request.actor,
        action=request.action,
        evidence=evidence,
        idempotency_key="",
        risk=assess(operation, request.action, policies=request.policies, now=now),
        policy_hash=request.policies.hash,
        hidden=request.policies.of(operation.type).hiding(operation.expected),
        now=now,
    )


def _checked(action: ActionName, form: ActionForm) -> Evidence:
    """The evidence of a whole form; one InvalidInputError names every field that is not in order."""
    problems = () if form.revision is not None else (Problem("revision", "revision_invalid"),)
    try:
        evidence = check_evidence(action, reason_code=form.reason_code, note=form.note, reference=form.reference)
    except InvalidInputError as error:
        raise InvalidInputError(problems + error.problems) from error
    if problems:
        raise InvalidInputError(problems)
    return evidence


def _proof_problem(proof: Proof | None) -> Problem:
    if proof and proof.needs_override:
        return Problem("reason_code", "proof_missing", {"proof": proof.value})
    return Problem("reason_code", "override_needless")


def _earlier(session: Session, operation: Operation, request: ActionRequest, form: ActionForm) -> Performed | None:
    """What the same form did before; a key that was used for something else is refused."""
    stored = session.scalar(
        select(Action).where(Action.requested_by == request.actor.id, Action.idempotency_key == form.idempotency_key)
    )
    if stored is None:
        return None
    if (stored.operation_id, stored.action) != (operation.id, request.action.value):
        raise InvalidInputError((Problem("idempotency_key", "key_reused"),))
    child = session.get(Operation, stored.child_id) if stored.child_id else None
    child_id = child.operation_id if child else None
    return Performed(stored.id, operation.operation_id, request.action, child_id, repeated=True, state=stored.state)


def _lost_race(session: Session, operation: Operation) -> LostRaceError:
    """Say who changed the operation since the person looked at it, and when."""
    last = last_change(session, operation.id)
    return LostRaceError(
        operation_id=operation.operation_id,
        state=operation.state,
        changed_by=last.actor_id if last else None,
        changed_at=last.at if last else operation.updated_at,
    )
