"""What became of an attempt, written by whoever holds the lease: confirmed, sent, or failed and why.

Every function raises LostRaceError where the lease is somebody else's by now, and then changes nothing.
"""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, TypeAlias

from sqlalchemy.orm import Session

from dashboard.db import clock
from dashboard.domain.causes import UNSENT, Failure, wait_of
from dashboard.domain.errors import InvalidInputError, LostRaceError, Problem
from dashboard.domain.permissions import Actor
from dashboard.domain.policy import Policies, TypePolicy, next_look, retry_delay
from dashboard.domain.states import Cause, EventKind, State, Trigger
from dashboard.domain.work import Confirmed, Sent, Work
from dashboard.models import Operation
from dashboard.services import budgets, leases, transitions
from dashboard.services.storable import storable_evidence, storable_reason, storable_remote_id
from dashboard.services.transitions import Move

# Causes that say that the destination did not take the request at all.
UNANSWERED = frozenset({Cause.NOT_SENT, Cause.THROTTLED})
NOT_COUNTED = "not_counted"
ACCEPTED = "The destination accepted it; its confirmation comes later."
UNPROVEN = "The handler said that it is done and gave neither an id nor evidence."
RELEASED = "Put back without an attempt: the worker was told to stop."


@dataclass(frozen=True)
class Unsent:
    """The worker did not begin what it had claimed: it is put back, due at once, and the attempt is not counted."""


Outcome: TypeAlias = Confirmed | Sent | Failure | Unsent


def settle(
    session: Session, works: Sequence[tuple[Work, Outcome]], *, policies: Policies, actor: Actor
) -> Sequence[Work]:
    """Record what became of several attempts in as many statements as one takes, and return those that are lost.

    Those are held by nobody or somebody else by now, and nothing of them is changed.
    """
    held = leases.held(session, [work for work, _ in works])
    now = clock(session)
    moves = [
        _moved(_Held(session, held[work.number], work, policies, actor, now), outcome)
        for work, outcome in works
        if work.number in held
    ]
    if moves:
        transitions.apply_all(session, moves, actor=actor, now=now, policy_hash=policies.hash)
    return [work for work, _ in works if work.number not in held]


def confirm(session: Session, work: Work, confirmed: Confirmed, *, policies: Policies, actor: Actor) -> State:
    """The effect exists, with an id or evidence that proves it; without either it is looked up instead."""
    return _hold(session, work, policies=policies, actor=actor).make(confirmed)


def await_confirmation(session: Session, work: Work, sent: Sent, *, policies: Policies, actor: Actor) -> State:
    """The request is out and the answer comes later; the reconciler asks once the policy's window is over."""
    return _hold(session, work, policies=policies, actor=actor).make(sent)


def fail(session: Session, work: Work, failure: Failure, *, policies: Policies, actor: Actor) -> State:
    """Go where the cause leads: another attempt if nothing was sent, a look if that is unknown, else a person."""
    return _hold(session, work, policies=policies, actor=actor).make(failure)


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
    return held.apply(_retry(held, failure, after=after))


def send_to_review(session: Session, work: Work, failure: Failure, *, policies: Policies, actor: Actor) -> State:
    """A person must decide: another attempt would fail the same way."""
    held = _hold(session, work, policies=policies, actor=actor)
    return held.apply(_review(held, failure))


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


def _moved(held: "_Held", outcome: Outcome) -> Move:
    """Where an outcome takes the operation."""
    match outcome:
        case Confirmed():
            return _confirmed(held, outcome)
        case Sent():
            held.was_answered()
            return held.wait(reason=ACCEPTED, evidence=_told(outcome), changes=_remote_id(outcome))
        case Unsent():
            return _put_back(held)
    if outcome.cause in UNSENT:
        return _retry(held, outcome)
    if outcome.cause is Cause.SENT_UNKNOWN:
        return held.wait(reason=outcome.reason, evidence=_failure_told(outcome))
    return _review(held, outcome)


def _confirmed(held: "_Held", confirmed: Confirmed) -> Move:
    held.was_answered()
    if not confirmed.remote_id and not confirmed.evidence:
        return held.wait(reason=UNPROVEN)
    return held.move(Trigger.CONFIRMATION, evidence=_told(confirmed), changes=_remote_id(confirmed))


def _put_back(held: "_Held") -> Move:
    return held.move(
        Trigger.TRANSIENT,
        cause=Cause.NOT_SENT,
        reason=RELEASED,
        evidence={NOT_COUNTED: True},
        changes={"next_attempt_at": held.now, "attempts": held.work.attempts - 1},
    )


def _retry(held: "_Held", failure: Failure, *, after: timedelta | None = None) -> Move:
    work, told = held.work, _failure_told(failure)
    if failure.cause in UNANSWERED and budgets.unanswered(held.session, work.destination, now=held.now):
        # An outage is the destination's failure: it uses up nobody's attempts.
        changes = {"next_attempt_at": held.now + held.delay(failure, after), "attempts": work.attempts - 1}
        told[NOT_COUNTED] = True
        return held.move(Trigger.TRANSIENT, cause=failure.cause, reason=failure.reason, evidence=told, changes=changes)
    used_up = work.attempts >= held.policy.retry.max_attempts
    return held.move(
        Trigger.ATTEMPTS_USED_UP if used_up else Trigger.TRANSIENT,
        cause=failure.cause,
        reason=failure.reason,
        evidence=told,
        changes={} if used_up else {"next_attempt_at": held.now + held.delay(failure, after)},
    )


def _review(held: "_Held", failure: Failure) -> Move:
    held.was_answered()
    return held.move(Trigger.PERMANENT, cause=failure.cause, reason=failure.reason, evidence=_failure_told(failure))


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
    ) -> Move:
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
    ) -> Move:
        return Move(
            self.operation,
            trigger,
            cause=cause,
            reason=storable_reason(reason),
            evidence=storable_evidence(evidence or {}, self.policy),
            lease_token=self.work.token,
            changes=changes,
        )

    def apply(self, move: Move) -> State:
        transitions.apply_all(self.session, [move], actor=self.actor, now=self.now, policy_hash=self.policies.hash)
        return State(self.operation.state)

    def make(self, outcome: Outcome) -> State:
        return self.apply(_moved(self, outcome))


def _hold(session: Session, work: Work, *, policies: Policies, actor: Actor) -> _Held:
    operation = leases.held(session, [work]).get(work.number)
    if operation is None:
        raise LostRaceError(operation_id=work.operation_id)
    return _Held(session, operation, work, policies, actor, clock(session))


def _told(answer: Confirmed | Sent) -> dict[str, Any]:
    return {"remote_id": answer.remote_id, **answer.evidence}


def _remote_id(answer: Confirmed | Sent) -> dict[str, object]:
    remote_id = storable_remote_id(answer.remote_id)
    return {"remote_id": remote_id} if remote_id else {}


def _failure_told(failure: Failure) -> dict[str, Any]:
    told = {"rule": failure.rule, "status": failure.status, "retry_after": failure.retry_after}
    return {name: value for name, value in told.items() if value}
