"""Deciding about a plan: send it with its evidence, approve or reject it, stop it, let it go on, take it back.

Each step is refused and audited as an action is; a plan is approved as a whole, and each of its rows is checked again
when its turn comes.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import select
from sqlalchemy.orm import Session

from dashboard.db import Database, clock, transact
from dashboard.domain.actions import FORM_KEY, ActionName, Evidence, check_evidence, check_remark, check_words
from dashboard.domain.approval import Vote
from dashboard.domain.bulk import PlanState, Speed, Step, read_speed, reasons
from dashboard.domain.errors import (
    ConflictError,
    InvalidInputError,
    LostRaceError,
    NotAllowedError,
    NotFoundError,
    Problem,
)
from dashboard.domain.permissions import Actor, Permission, allows
from dashboard.domain.redaction import redact_text
from dashboard.models import BulkPlan, BulkVote
from dashboard.services import audit, bulk_plans
from dashboard.services.policies import Policies
from dashboard.services.refusals import Attempt, attempt
from dashboard.services.standing import as_of_now

TOLD: Mapping[Step, str] = {Step.START: "bulk_start", Step.STOP: "bulk_stop", Step.RESUME: "bulk_resume"}
WITHDRAWN_FROM = frozenset({PlanState.DRAFT, PlanState.WAITING, PlanState.PAUSED, PlanState.STOPPED})


@dataclass(frozen=True)
class PlanForm:
    """What a person sent: `idempotency_key` names the form; the rest is evidence and speed, as far as a step needs."""

    idempotency_key: str
    reason_code: str | None = None
    note: str | None = None
    reference: str | None = None
    canary: str | None = None
    rate: str | None = None


@dataclass(frozen=True)
class PlanDecided:
    """The state of the plan after the step; `repeated` where the same had been decided before."""

    plan_id: int
    step: Step
    state: str
    repeated: bool = False


@dataclass(frozen=True)
class _Asked:
    actor: Actor
    plan_id: int
    step: Step
    form: PlanForm
    policies: Policies
    now: datetime


def decide(
    database: Database, *, actor: Actor, plan_id: int, step: Step, form: PlanForm, policies: Policies
) -> PlanDecided:
    """Take one step with a plan; a refusal is audited and then raised.

    Raises NotFoundError, InvalidInputError, NotAllowedError (`own_approval`, `not_proposer`, `not_planner`, or a
    permission that is missing), LostRaceError `not_waiting`, `approval_void` or `approval_expired`, and ConflictError
    `plan_nothing_eligible` or `voted_already`.
    """
    subject = bulk_plans.subject_of(plan_id)
    lapsed = _settled(database, actor=actor, plan_id=plan_id, policies=policies)
    tried = Attempt(actor, TOLD.get(step, step.value), subject, form.note, form.reason_code)

    def unit(session: Session) -> PlanDecided:
        asked = _Asked(actor, plan_id, step, form, policies, clock(session))
        return _decide(session, asked, lapsed=lapsed)

    return attempt(database, tried, unit, look=bulk_plans.look)


def _settled(database: Database, *, actor: Actor, plan_id: int, policies: Policies) -> PlanState | None:
    """How the plan ended just now; it stays ended although the step is refused."""

    def unit(session: Session) -> PlanState | None:
        try:
            bulk_plans.find(session, actor=actor, plan_id=plan_id)
        except NotFoundError:
            return None
        return bulk_plans.settle(session, plan_id, policies=policies)

    return transact(database, unit)


def _decide(session: Session, asked: _Asked, *, lapsed: PlanState | None) -> PlanDecided:
    plan = bulk_plans.find(session, actor=asked.actor, plan_id=asked.plan_id)
    if not FORM_KEY.fullmatch(asked.form.idempotency_key):
        raise InvalidInputError((Problem("idempotency_key", "key_invalid"),))
    # Two who decide at once meet at this lock, and so does the worker.
    session.refresh(plan, with_for_update=True)
    if lapsed and plan.state == lapsed:
        code = "approval_expired" if lapsed is PlanState.EXPIRED else "approval_void"
        raise LostRaceError(code, because=plan.because)
    before = plan.state
    repeated = _STEPS[asked.step](session, plan, asked)
    if not repeated:
        _tell(session, plan, asked, before=before)
        bulk_plans.announce(session, plan, before=before, policies=asked.policies, now=asked.now)
    return PlanDecided(plan.id, asked.step, plan.state, repeated)


def _start(session: Session, plan: BulkPlan, asked: _Asked) -> bool:
    if plan.requested_by != asked.actor.id:
        raise NotAllowedError("not_planner", permission=Permission.PROPOSE.value)
    evidence, speed = _checked(ActionName(plan.action), asked.form)
    if plan.state != PlanState.DRAFT:
        return _unless((plan.reason_code, plan.note) == (evidence.reason_code, evidence.note), plan)
    groups = bulk_plans.groups_of(session, plan)
    if not groups:
        raise ConflictError("plan_nothing_eligible")
    if not bulk_plans.steers(plan, groups, actor=as_of_now(session, asked.actor)):
        raise NotAllowedError(permission=Permission.PROPOSE.value, action=plan.action)
    plan.reason_code, plan.note, plan.reference = evidence.reason_code, evidence.note, evidence.reference
    plan.canary, plan.rate = speed.canary, speed.rate
    plan.asked_at = asked.now
    plan.binding = bulk_plans.bound(session, plan)
    if not plan.needed:
        _run(plan, asked)
        return False
    plan.state = PlanState.WAITING.value
    plan.expires_at = asked.now + min(asked.policies.of(group.type).approvals.expires for group in groups)
    return False


def _approve(session: Session, plan: BulkPlan, asked: _Asked) -> bool:
    if _voted(session, plan, asked, Vote.APPROVE):
        return True
    _vote(session, plan, asked, Vote.APPROVE, note=check_remark(asked.form.note))
    groups = bulk_plans.groups_of(session, plan)
    voters = [
        voter
        for voter in bulk_plans.voters_of(session, plan)
        if bulk_plans.obstacle(plan, groups, actor=voter, vote=Vote.APPROVE) is None
    ]
    if len(voters) < plan.needed:
        return False
    for special in map(Permission, plan.special.split()):
        for group in groups:
            if not any(allows(who.grants, special, tenant=group.tenant, type=group.type) for who in voters):
                # Enough people, and none of them may: this vote could never be enough.
                raise NotAllowedError(permission=special.value, action=plan.action)
    _run(plan, asked)
    return False


def _reject(session: Session, plan: BulkPlan, asked: _Asked) -> bool:
    if _voted(session, plan, asked, Vote.REJECT):
        return True
    _vote(session, plan, asked, Vote.REJECT, note=check_words(note=asked.form.note, reference=None)[0])
    _end(plan, asked, PlanState.REJECTED)
    return False


def _withdraw(_session: Session, plan: BulkPlan, asked: _Asked) -> bool:
    refusal = bulk_plans.obstacle(plan, (), actor=asked.actor, vote=Vote.WITHDRAW)
    if refusal:
        raise refusal
    check_remark(asked.form.note)
    if plan.state not in WITHDRAWN_FROM:
        return _unless(plan.state == PlanState.WITHDRAWN, plan)
    _end(plan, asked, PlanState.WITHDRAWN)
    return False


def _stop(session: Session, plan: BulkPlan, asked: _Asked) -> bool:
    _refuse_steering(session, plan, asked)
    if plan.state != PlanState.RUNNING:
        return _unless(plan.state == PlanState.STOPPED, plan)
    plan.state, plan.because = PlanState.STOPPED.value, "stopped"
    return False


def _resume(session: Session, plan: BulkPlan, asked: _Asked) -> bool:
    _refuse_steering(session, plan, asked)
    if plan.state not in {PlanState.STOPPED, PlanState.PAUSED}:
        return _unless(plan.state == PlanState.RUNNING, plan)
    if plan.state == PlanState.PAUSED:
        plan.canary_passed = 1
    _run(plan, asked)
    return False


_STEPS: Mapping[Step, Callable[[Session, BulkPlan, _Asked], bool]] = {
    Step.START: _start,
    Step.APPROVE: _approve,
    Step.REJECT: _reject,
    Step.WITHDRAW: _withdraw,
    Step.STOP: _stop,
    Step.RESUME: _resume,
}


def _unless(same: bool, plan: BulkPlan) -> bool:  # noqa: FBT001 - reads as a sentence where it is used
    """True where the step had been taken before; what else has happened meanwhile is a lost race."""
    if same:
        return True
    raise LostRaceError("not_waiting", state=plan.state, because=plan.because)


def _checked(action: ActionName, form: PlanForm) -> tuple[Evidence, Speed]:
    """Evidence as it will be stored, and the speed; one InvalidInputError names every field that is not in order."""
    speed, problems = read_speed(canary=form.canary, rate=form.rate)
    if form.reason_code and form.reason_code.strip() not in reasons(action):
        problems = (Problem("reason_code", "reason_unknown", {"allowed": reasons(action)}), *problems)
    note, reference = (redact_text(text) if text else None for text in (form.note, form.reference))
    try:
        evidence = check_evidence(action, reason_code=form.reason_code, note=note, reference=reference)
    except InvalidInputError as error:
        known = {problem.field for problem in error.problems}
        raise InvalidInputError((*error.problems, *(each for each in problems if each.field not in known))) from error
    if problems:
        raise InvalidInputError(problems)
    return evidence, speed


def _run(plan: BulkPlan, asked: _Asked) -> None:
    plan.state, plan.because = PlanState.RUNNING.value, None
    plan.started_at = plan.started_at or asked.now
    plan.next_at = asked.now


def _end(plan: BulkPlan, asked: _Asked, state: PlanState) -> None:
    plan.state, plan.because = state.value, asked.step.value
    plan.ended_at = asked.now


def _refuse_steering(session: Session, plan: BulkPlan, asked: _Asked) -> None:
    groups = bulk_plans.groups_of(session, plan)
    if not bulk_plans.steers(plan, groups, actor=as_of_now(session, asked.actor)):
        raise NotAllowedError(permission=Permission.APPROVE.value, action=plan.action)


def _voted(session: Session, plan: BulkPlan, asked: _Asked, vote: Vote) -> bool:
    """Whether this form gave this vote before; every other reason why it cannot be given now is raised."""
    given = session.scalar(select(BulkVote).where(BulkVote.plan_id == plan.id, BulkVote.voter == asked.actor.id))
    if given and (given.vote, given.idempotency_key) == (vote.value, asked.form.idempotency_key):
        return True
    if given:
        raise ConflictError("voted_already", vote=given.vote)
    if plan.state != PlanState.WAITING:
        raise LostRaceError("not_waiting", state=plan.state, because=plan.because)
    voter = as_of_now(session, asked.actor)
    refusal = bulk_plans.obstacle(plan, bulk_plans.groups_of(session, plan), actor=voter, vote=vote)
    if refusal:
        raise refusal
    return False


def _vote(session: Session, plan: BulkPlan, asked: _Asked, vote: Vote, *, note: str | None) -> None:
    session.add(
        BulkVote(
            plan_id=plan.id,
            voter=asked.actor.id,
            voter_kind=asked.actor.kind.value,
            vote=vote.value,
            note=redact_text(note) if note else None,
            binding=plan.binding,
            idempotency_key=asked.form.idempotency_key,
            at=asked.now,
        )
    )
    session.flush()


def _tell(session: Session, plan: BulkPlan, asked: _Asked, *, before: str) -> None:
    session.flush()
    told = {"action": plan.action, "requested_by": plan.requested_by, "binding": plan.binding}
    speed = {"canary": plan.canary, "rate": plan.rate} if asked.step is Step.START else {}
    audit.append(
        session,
        actor=asked.actor,
        action=TOLD.get(asked.step, asked.step.value),
        subject=bulk_plans.subject_of(plan.id),
        now=asked.now,
        tenant=plan.tenant,
        type=plan.type,
        before={"state": before},
        after={"state": plan.state, "eligible": plan.eligible, "needed": plan.needed},
        reason=plan.note if asked.step is Step.START else asked.form.note,
        evidence={**told, "reason_code": plan.reason_code, "reference": plan.reference, **speed},
    )
