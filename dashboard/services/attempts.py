"""What became of an attempt, written by whoever holds the lease: confirmed, sent, or failed and why.

Every function raises LostRaceError where the lease is somebody else's by now, and then changes nothing.
"""

import random
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy.orm import Session

from dashboard.db import clock
from dashboard.domain.causes import UNSENT, Failure, wait_of
from dashboard.domain.errors import InvalidInputError, Problem
from dashboard.domain.permissions import Actor
from dashboard.domain.policy import Policies, TypePolicy, next_look, retry_delay
from dashboard.domain.states import Cause, EventKind, State, Trigger
from dashboard.domain.work import Confirmed, Sent, Work
from dashboard.models import Operation
from dashboard.services import budgets, leases, transitions
from dashboard.services.storable import storable_evidence, storable_reason, storable_remote_id

# Causes that say that the destination did not take the request at all.
UNANSWERED = frozenset({Cause.NOT_SENT, Cause.THROTTLED})
NOT_COUNTED = "not_counted"
ACCEPTED = "The destination accepted it; its confirmation comes later."
UNPROVEN = "The handler said that it is done and gave neither an id nor evidence."
RELEASED = "Put back without an attempt: the worker was told to stop."


def settle(
    session: Session, work: Work, outcome: Confirmed | Sent | Failure, *, policies: Policies, actor: Actor
) -> State:
    """Record what the handler answered and return where the operation went."""
    match outcome:
        case Confirmed():
            return confirm(session, work, outcome, policies=policies, actor=actor)
        case Sent():
            return await_confirmation(session, work, outcome, policies=policies, actor=actor)
    return fail(session, work, outcome, policies=policies, actor=actor)


def confirm(session: Session, work: Work, confirmed: Confirmed, *, policies: Policies, actor: Actor) -> State:
    """The effect exists, with an id or evidence that proves it; without either it is looked up instead."""
    held = _hold(session, work, policies=policies, actor=actor)
    held.was_answered()
    if not confirmed.remote_id and not confirmed.evidence:
        return held.wait(reason=UNPROVEN)
    return held.move(Trigger.CONFIRMATION, evidence=_told(confirmed), changes=_remote_id(confirmed))


def await_confirmation(session: Session, work: Work, sent: Sent, *, policies: Policies, actor: Actor) -> State:
    """The request is out and the answer comes later; the reconciler asks once the policy's window is over."""
    held = _hold(session, work, policies=policies, actor=actor)
    held.was_answered()
    return held.wait(reason=ACCEPTED, evidence=_told(sent), changes=_remote_id(sent))


def fail(session: Session, work: Work, failure: Failure, *, policies: Policies, actor: Actor) -> State:
    """Go where the cause leads: another attempt if nothing was sent, a look if that is unknown, else a person."""
    if failure.cause in UNSENT:
        return schedule_retry(session, work, failure, policies=policies, actor=actor)
    if failure.cause is not Cause.SENT_UNKNOWN:
        return send_to_review(session, work, failure, policies=policies, actor=actor)
    held = _hold(session, work, policies=policies, actor=actor)
    return held.wait(reason=failure.reason, evidence=_failure_told(failure))


def schedule_retry(
    session: Session,
    work: Work,
    failure: Failure,
    *,
    policies: Policies,
    actor: Actor,
    after: timedelta | None = None,
) -> State:
    """Plan another attempt, not before `after`; a person decides once the policy's attempts are used up.

    Raises InvalidInputError for a cause that does not prove that nothing was sent.
    """
    if failure.cause not in UNSENT:
        raise InvalidInputError((Problem("cause", "enum", {"expected": tuple(sorted(UNSENT))}),))
    held = _hold(session, work, policies=policies, actor=actor)
    if failure.cause in UNANSWERED and budgets.unanswered(session, work.destination, now=held.now):
        # An outage is the destination's failure: it uses up nobody's attempts.
        changes = {"next_attempt_at": held.now + held.delay(failure, after), "attempts": work.attempts - 1}
        told = {**_failure_told(failure), NOT_COUNTED: True}
        return held.move(Trigger.TRANSIENT, cause=failure.cause, reason=failure.reason, evidence=told, changes=changes)
    used_up = work.attempts >= held.policy.retry.max_attempts
    return held.move(
        Trigger.ATTEMPTS_USED_UP if used_up else Trigger.TRANSIENT,
        cause=failure.cause,
        reason=failure.reason,
        evidence=_failure_told(failure),
        changes={} if used_up else {"next_attempt_at": held.now + held.delay(failure, after)},
    )


def send_to_review(session: Session, work: Work, failure: Failure, *, policies: Policies, actor: Actor) -> State:
    """A person must decide: another attempt would fail the same way."""
    held = _hold(session, work, policies=policies, actor=actor)
    held.was_answered()
    return held.move(Trigger.PERMANENT, cause=failure.cause, reason=failure.reason, evidence=_failure_told(failure))


def record_attempt(session: Session, work: Work, failure: Failure, *, policies: Policies, actor: Actor) -> None:
    """Note a failed try within one claim, such as a client's own first try; the operation stays in hand."""
    held = _hold(session, work, policies=policies, actor=actor)
    transitions.record(
        session,
        held.operation,
        kind=EventKind.ATTEMPT,
        actor=actor,
        now=held.now,
        cause=failure.cause,
        reason=storable_reason(failure.reason),
        evidence=storable_evidence(_failure_told(failure), held.policy),
        policy_hash=policies.hash,
    )


def release(session: Session, work: Work, *, policies: Policies, actor: Actor) -> State:
    """Put back what was claimed and not begun, due at once; the attempt is not counted."""
    held = _hold(session, work, policies=policies, actor=actor)
    return held.move(
        Trigger.TRANSIENT,
        cause=Cause.NOT_SENT,
        reason=RELEASED,
        evidence={NOT_COUNTED: True},
        changes={"next_attempt_at": held.now, "attempts": work.attempts - 1},
    )


@dataclass(frozen=True)
class _Held:
    """An operation that this transaction has locked under its lease, and by which rules and whom it is moved."""

    session: Session
    operation: Operation
    work: Work
    policies: Policies
    actor: Actor
    now: datetime

    @property
    def policy(self) -> TypePolicy:
        return self.policies.of(self.operation.type)

    def was_answered(self) -> None:
        if self.work.destination_failing:
            budgets.answered(self.session, self.work.destination)

    def delay(self, failure: Failure, after: timedelta | None) -> timedelta:
        floors = [wait for wait in (after, wait_of(failure.retry_after, now=self.now)) if wait is not None]
        jitter = random.random()  # noqa: S311 - spreads load, protects nothing
        return retry_delay(
            self.policy.retry, attempts=self.work.attempts, jitter=jitter, retry_after=max(floors, default=None)
        )

    def wait(
        self, *, reason: str, evidence: Mapping[str, Any] | None = None, changes: Mapping[str, object] | None = None
    ) -> State:
        look = next_look(self.policy.window, looks=0, now=self.now)
        return self.move(
            Trigger.ANSWER_UNKNOWN,
            cause=Cause.SENT_UNKNOWN,
            reason=reason,
            evidence=evidence,
            changes={"next_attempt_at": look, **(changes or {})},
        )

    def move(
        self,
        trigger: Trigger,
        *,
        cause: Cause | None = None,
        reason: str | None = None,
        evidence: Mapping[str, Any] | None = None,
        changes: Mapping[str, object] | None = None,
    ) -> State:
        transitions.apply(
            self.session,
            self.operation,
            trigger=trigger,
            actor=self.actor,
            now=self.now,
            cause=cause,
            reason=storable_reason(reason),
            evidence=storable_evidence(evidence or {}, self.policy),
            policy_hash=self.policies.hash,
            lease_token=self.work.token,
            changes=changes,
        )
        return State(self.operation.state)


def _hold(session: Session, work: Work, *, policies: Policies, actor: Actor) -> _Held:
    return _Held(session, leases.held(session, work), work, policies, actor, clock(session))


def _told(answer: Confirmed | Sent) -> dict[str, Any]:
    return {"remote_id": answer.remote_id, **answer.evidence}


def _remote_id(answer: Confirmed | Sent) -> dict[str, object]:
    remote_id = storable_remote_id(answer.remote_id)
    return {"remote_id": remote_id} if remote_id else {}


def _failure_told(failure: Failure) -> dict[str, Any]:
    told = {"rule": failure.rule, "status": failure.status, "retry_after": failure.retry_after}
    return {name: value for name, value in told.items() if value}
