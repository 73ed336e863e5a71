"""Acting on a verdict: in one transaction re-read, re-check, do what policy authorises, and append the evidence."""

import random
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import update
from sqlalchemy.orm import Session

from dashboard.domain.errors import LostRaceError
from dashboard.domain.permissions import Actor
from dashboard.domain.policy import Policies, TypePolicy, retry_delay
from dashboard.domain.responses import Decision, Reason, Standing, Step, decide, look_again_at, recommend
from dashboard.domain.states import ActorKind, EventKind, State
from dashboard.models import Operation, ReconciliationFinding
from dashboard.services import compensations, outcomes, settling, transitions
from dashboard.services.holding import Held, let_go
from dashboard.services.judging import Look


@dataclass(frozen=True)
class Acting:
    """Who acts in which run, under which policies."""

    actor: Actor
    run_id: int
    policies: Policies


@dataclass(frozen=True)
class _Case:
    """One look at one operation, with what policy makes of it."""

    operation: Operation
    held: Held
    look: Look
    decision: Decision
    acting: Acting
    now: datetime

    @property
    def policy(self) -> TypePolicy:
        return self.acting.policies.of(self.operation.type)


def act(session: Session, held: Held, look: Look, acting: Acting, *, now: datetime) -> ReconciliationFinding:
    """Do what follows from a look, or only note it; what changed since it was held is left as it is."""
    operation = session.get_one(Operation, held.number, with_for_update=held.token is not None, populate_existing=True)
    if _changed(operation, held):
        let_go(session, held)
        late = Decision(Step.WAIT, Reason.CHANGED_MEANWHILE)
        return _found(session, _Case(operation, held, look, late, acting, now), applied=False)
    decision = _decide(session, operation, held, look, acting=acting, now=now)
    case = _Case(operation, held, look, decision, acting, now)
    if held.token is None:
        return _found(session, case, applied=False)
    _append_probe(session, case)
    _change(session, case)
    outcomes.grade_by(session, operation, look.judged, policy=case.policy, now=now)
    settling.settle(session, operation, now=now)
    return _found(session, case, applied=True)


def _changed(operation: Operation, held: Held) -> bool:
    if (operation.state, operation.revision) != (held.state, held.revision):
        return True
    return held.token is not None and operation.lease_token != held.token


def _decide(
    session: Session, operation: Operation, held: Held, look: Look, *, acting: Acting, now: datetime
) -> Decision:
    policy = acting.policies.of(operation.type)
    standing = Standing(
        state=State(operation.state),
        attempts=operation.attempts,
        overdue=operation.deadline_at <= now,
        undoing=compensations.existing(session, operation) is not None,
        repeatable=held.background.honours_key or bool(policy.visibility_lag),
    )
    return decide(look.judged, standing, policy)


def _append_probe(session: Session, case: _Case) -> None:
    transitions.record(
        session,
        case.operation,
        kind=EventKind.PROBE,
        actor=case.acting.actor,
        now=case.now,
        reason=_words(case.look.judged.reason),
        evidence=case.look.evidence,
        policy_hash=case.acting.policies.hash,
        run_id=case.acting.run_id,
    )


def _change(session: Session, case: _Case) -> None:
    """Write the verdict, and the new state where there is one."""
    decision, values = case.decision, {**_learned(case), **_time_of_next(case)}
    if decision.target is None or decision.trigger is None:
        if _says_the_same(case, values):
            _renew(session, case, values)
            return
        transitions.change(session, case.operation, now=case.now, lease_token=case.held.token, **values)
        let_go(session, case.held)
        return
    if decision.closed_reason:
        values["closed_reason"] = decision.closed_reason.value
    transitions.apply(
        session,
        case.operation,
        trigger=decision.trigger,
        target=decision.target,
        # A person may ask for a look; what follows from it is the reconciler's to do.
        actor=Actor(ActorKind.RECONCILER, case.acting.actor.id),
        now=case.now,
        reason=_words(decision.reason),
        evidence={"verdict": case.look.judged.verdict.value, "step": decision.step.value},
        policy_hash=case.acting.policies.hash,
        run_id=case.acting.run_id,
        lease_token=case.held.token,
        changes=values,
    )


def _says_the_same(case: _Case, values: Mapping[str, Any]) -> bool:
    verdict = values.get("verdict", case.operation.verdict)
    return verdict == case.operation.verdict and "remote_id" not in values


def _renew(session: Session, case: _Case, values: Mapping[str, Any]) -> None:
    """Keep the time of a look that found what was known: that is no change, and what people prepared stays valid."""
    row = case.operation
    same = update(Operation).where(
        Operation.id == row.id,
        Operation.state == row.state,
        Operation.revision == row.revision,
        Operation.lease_token == case.held.token,
    )
    result = session.connection().execute(same.values({**values, "lease_token": None, "lease_until": None}))
    if result.rowcount != 1:
        raise LostRaceError(operation_id=row.operation_id)
    session.expire(row)


def _learned(case: _Case) -> dict[str, Any]:
    """What the look says, for the row that lists read."""
    values: dict[str, Any] = {}
    answer, judged = case.look.answer, case.look.judged
    # An answer that never came says nothing against what is confirmed already.
    if not (case.operation.state == State.CONFIRMED and answer.failed):
        recommended = recommend(judged, case.policy) if _needs_somebody(case) else None
        values["verdict"] = judged.verdict.value
        values["verdict_at"] = case.now
        values["recommended_action"] = recommended.value if recommended else None
    if answer.remote_id and case.operation.remote_id is None:
        values["remote_id"] = answer.remote_id
    return values


def _needs_somebody(case: _Case) -> bool:
    """Whether a person may still have to act: it is in review, gets there now, or might."""
    goes_to = case.decision.target or State(case.operation.state)
    return goes_to in {State.MANUAL_REVIEW, State.AWAITING_CONFIRMATION}


def _time_of_next(case: _Case) -> dict[str, Any]:
    """When the engine looks at the operation next, where the look moves that."""
    operation, policy, now = case.operation, case.policy, case.now
    if case.decision.step is Step.RETRY:
        delay = retry_delay(policy.retry, attempts=operation.attempts, jitter=random.random())  # noqa: S311 - jitter
        return {"next_attempt_at": now + delay}
    if operation.state != State.AWAITING_CONFIRMATION or case.decision.target is not None:
        return {}
    at = look_again_at(
        case.look.judged,
        policy,
        looks=case.held.looks.times + 1,
        missed_at=case.held.background.missed_at,
        now=now,
        deadline_at=operation.deadline_at,
    )
    return {"next_attempt_at": at}


def _found(session: Session, case: _Case, *, applied: bool) -> ReconciliationFinding:
    changed = case.decision.reason is Reason.CHANGED_MEANWHILE
    finding = ReconciliationFinding(
        run_id=case.acting.run_id,
        operation_id=case.operation.id,
        tenant=case.operation.tenant,
        type=case.operation.type,
        at=case.now,
        state=case.operation.state if changed else case.held.state,
        attempts=case.operation.attempts,
        verdict=case.look.judged.verdict.value,
        response=case.decision.step.value,
        target=case.decision.target.value if case.decision.target else None,
        applied=applied,
        reason=case.decision.reason.value,
        # What came too late to be acted on is no look that later ones may build on.
        evidence=None if changed else dict(case.look.evidence),
    )
    session.add(finding)
    session.flush()
    return finding


def _words(reason: Reason) -> str:
    return reason.value.replace("_", " ")
