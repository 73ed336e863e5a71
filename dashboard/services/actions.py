"""The one way in which a person changes an operation, whether by screen, API or command.

`preview` says what an action would do and how risky it is; `perform` does it, once, with evidence,
and writes an audit entry whether it was done or refused.
"""

import re
from dataclasses import dataclass, replace
from datetime import datetime

from sqlalchemy import select
from sqlalchemy.orm import Session

from dashboard.db import Database, clock
from dashboard.domain.actions import REASON_CODES, ActionName, Evidence, check_evidence
from dashboard.domain.errors import (
    InvalidInputError,
    LostRaceError,
    NotFoundError,
    OperationsError,
    Problem,
    TransitionError,
)
from dashboard.domain.permissions import Actor, Permission, scopes
from dashboard.domain.risk import RiskAssessment, assess_duplication
from dashboard.domain.states import Cause, State, Trigger, known, targets
from dashboard.domain.text import is_operation_id
from dashboard.domain.verdicts import Verdict
from dashboard.models import Action, Operation
from dashboard.queries.history import last_change
from dashboard.queries.scoping import in_scope
from dashboard.services import compensations, decisions, offers
from dashboard.services.policies import Policies
from dashboard.services.refusals import Attempt, attempt

FORM_KEY = re.compile(r"[!-~]{1,128}")


@dataclass(frozen=True)
class ActionForm:
    """What a person sent: `idempotency_key` names the form, `revision` is the one they looked at, if they said."""

    idempotency_key: str
    revision: int | None
    reason_code: str | None = None
    note: str | None = None
    reference: str | None = None


@dataclass(frozen=True)
class Preview:
    """What an action would do, before anybody decides; `refusal` says why it cannot be done as things stand."""

    operation: Operation
    action: ActionName
    target: State | None
    reasons: tuple[str, ...]
    risk: RiskAssessment
    compensation: compensations.Plan | None
    refusal: OperationsError | None
    now: datetime


@dataclass(frozen=True)
class Performed:
    """The stored action; `repeated` when the same form had already done it."""

    action_id: int
    operation_id: str
    action: ActionName
    child_operation_id: str | None
    repeated: bool = False


@dataclass(frozen=True)
class ActionRequest:
    """Who asks for which action on which operation, under which policies."""

    actor: Actor
    operation_id: str
    action: ActionName
    policies: Policies


def preview(session: Session, request: ActionRequest) -> Preview:
    """Look at what an action would do; raises NotFoundError and NotAllowedError, never changes anything."""
    now = clock(session)
    action = request.action
    operation = _find_allowed(session, request)
    return Preview(
        operation=operation,
        action=action,
        target=_target(State(operation.state), action),
        reasons=REASON_CODES[action],
        risk=assess(operation, action, policies=request.policies, now=now),
        compensation=_compensation(session, operation, request),
        refusal=offers.obstacle(session, operation, action, policies=request.policies),
        now=now,
    )


def perform(database: Database, request: ActionRequest, form: ActionForm) -> Performed:
    """Do the action once and audit it; a refusal is audited as well and then raised.

    Raises NotFoundError, NotAllowedError, InvalidInputError, TransitionError and LostRaceError, and
    OperationsError where a compensation stands in the way. Sending the same form again gives the first
    result and changes nothing.
    """
    tried = Attempt(request.actor, request.action.value, request.operation_id, form.note, form.reason_code)
    return attempt(database, tried, lambda session: _perform_once(session, request, form))


def find(session: Session, *, actor: Actor, operation_id: str) -> Operation:
    """The operation if it lies within the person's grants; NotFoundError otherwise, whichever the reason."""
    visible = in_scope(scopes(actor.grants, Permission.BROWSE))
    operation = None
    if is_operation_id(operation_id):
        operation = session.scalar(select(Operation).where(Operation.operation_id == operation_id, visible))
    if operation is None:
        raise NotFoundError(operation_id=operation_id)
    return operation


def assess(operation: Operation, action: ActionName, *, policies: Policies, now: datetime) -> RiskAssessment:
    """How likely this action is to make an effect happen twice, judged on what the operation's row knows."""
    return assess_duplication(
        action,
        cause=known(Cause, operation.cause),
        verdict=known(Verdict, operation.verdict),
        verdict_age=now - operation.verdict_at if operation.verdict_at else None,
        freshness=policies.freshness_of(operation.type),
        attempts=operation.attempts,
        remote_id=operation.remote_id,
        honours_idempotency_key=policies.honours_key(operation.destination),
    )


def _perform_once(session: Session, request: ActionRequest, form: ActionForm) -> Performed:
    operation = _find_allowed(session, request)
    if not FORM_KEY.fullmatch(form.idempotency_key):
        raise InvalidInputError((Problem("idempotency_key", "key_invalid"),))
    earlier = _earlier(session, operation, request, form)
    if earlier:
        return earlier
    evidence = _checked(request.action, form)
    try:
        return _execute(session, operation, request, form=form, evidence=evidence)
    except OperationsError as refusal:
        # The same form, sent twice at once, meets here: what stands in its way may be what the first has done.
        session.expire_all()
        earlier = _earlier(session, operation, request, form)
        if earlier:
            return earlier
        if isinstance(refusal, LostRaceError):
            raise _lost_race(session, operation) from None
        raise


def _execute(
    session: Session, operation: Operation, request: ActionRequest, *, form: ActionForm, evidence: Evidence
) -> Performed:
    if operation.revision != form.revision:
        raise LostRaceError(operation_id=operation.operation_id)
    refusal = offers.obstacle(session, operation, request.action, policies=request.policies)
    if refusal:
        raise refusal
    now = clock(session)
    decision = decisions.Decision(
        actor=request.actor,
        action=request.action,
        evidence=evidence,
        idempotency_key=form.idempotency_key,
        risk=assess(operation, request.action, policies=request.policies, now=now),
        policy_hash=request.policies.hash,
        hidden=request.policies.of(operation.type).hiding(operation.expected),
        now=now,
    )
    planned = _compensation(session, operation, request)
    stored, child = decisions.carry_out(session, operation, decision, compensation=planned)
    return Performed(stored.id, operation.operation_id, request.action, child.operation_id if child else None)


def _compensation(session: Session, operation: Operation, request: ActionRequest) -> compensations.Plan | None:
    if request.action is not ActionName.COMPENSATE:
        return None
    return compensations.plan(session, operation, policies=request.policies)


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


def _target(state: State, action: ActionName) -> State | None:
    try:
        return targets(state, trigger=Trigger(action.value))
    except TransitionError:
        return None


def _find_allowed(session: Session, request: ActionRequest) -> Operation:
    operation = find(session, actor=request.actor, operation_id=request.operation_id)
    refusal = offers.not_allowed(operation, request.action, actor=request.actor)
    if refusal:
        raise refusal
    return operation


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
    done = Performed(stored.id, operation.operation_id, request.action, child.operation_id if child else None)
    return replace(done, repeated=True)


def _lost_race(session: Session, operation: Operation) -> LostRaceError:
    """Say who changed the operation since the person looked at it, and when."""
    last = last_change(session, operation.id)
    return LostRaceError(
        operation_id=operation.operation_id,
        state=operation.state,
        changed_by=last.actor_id if last else None,
        changed_at=last.at if last else operation.updated_at,
    )
