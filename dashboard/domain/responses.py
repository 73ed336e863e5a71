"""What follows from a look: the verdict with its reason, and what policy lets the reconciler do about it.

Ambiguous is never repeated. A look that failed, or that came too early to prove anything, is repeated until the
deadline before it bothers a person; several candidates, and a type that cannot be asked, go to a person at once.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from dashboard.domain.actions import ActionName
from dashboard.domain.policy import Response, TypePolicy, next_look
from dashboard.domain.states import ClosedReason, State, Trigger
from dashboard.domain.verdicts import Observation, Verdict, classify


class Reason(StrEnum):
    """Why a verdict is what it is, or why policy did something else than the verdict alone asks for."""

    AGREES = "agrees"
    DIFFERS = "differs"
    ABSENT = "proven_absent"
    SEVERAL = "several_candidates"
    FAILED = "probe_failed"
    NO_PROBE = "no_probe"
    PARTIAL = "answer_partial"
    INCOMPARABLE = "not_comparable"
    OLD_VIEW = "view_too_old"
    FIRST_MISS = "first_miss"
    UNPROVEN = "absence_unproven"
    CANCELLED = "cancelled"
    SUPERSEDED = "superseded"
    ATTEMPTS_USED_UP = "attempts_used_up"
    PAST_DEADLINE = "past_deadline"
    CHANGED_MEANWHILE = "changed_meanwhile"


class Step(StrEnum):
    """What the reconciler does: what policy may allow, or nothing but looking again."""

    CONFIRM = "confirm"
    RETRY = "retry"
    REVIEW = "review"
    CLOSE = "close"
    WAIT = "wait"


@dataclass(frozen=True)
class Judgement:
    """A verdict and why."""

    verdict: Verdict
    reason: Reason


@dataclass(frozen=True)
class Decision:
    """What to do: `target` and `trigger` name the transition, None where the operation stays where it is."""

    step: Step
    reason: Reason
    target: State | None = None
    trigger: Trigger | None = None
    closed_reason: ClosedReason | None = None


@dataclass(frozen=True)
class Standing:
    """How the operation stands when it is judged. `undoing`: a compensation of it is under way or done.

    `repeatable` is False where a second sending would make a second effect and nothing bounds how late one shows.
    """

    state: State
    attempts: int
    overdue: bool
    undoing: bool = False
    repeatable: bool = True


LOOKED_AT_AGAIN = frozenset({Reason.FAILED, Reason.PARTIAL, Reason.OLD_VIEW, Reason.FIRST_MISS, Reason.UNPROVEN})
_REVIEW_TRIGGER = {
    Verdict.CORRECT: Trigger.VERDICT_CORRECT,
    Verdict.ABSENT: Trigger.VERDICT_ABSENT,
    Verdict.DIVERGENT: Trigger.VERDICT_DIVERGENT,
    Verdict.AMBIGUOUS: Trigger.VERDICT_AMBIGUOUS,
    Verdict.NOT_APPLICABLE: Trigger.VERDICT_NOT_APPLICABLE,
}


def judge(observation: Observation) -> Judgement:
    """Name the verdict and what decided it."""
    verdict = classify(observation)
    return Judgement(verdict, _reason(observation, verdict))


def decide(judged: Judgement, standing: Standing, policy: TypePolicy) -> Decision:
    """Say what policy makes of a judgement, given how the operation stands."""
    match standing.state:
        case State.AWAITING_CONFIRMATION:
            return _of_awaiting(judged, standing, policy)
        case State.MANUAL_REVIEW | State.RETRY_SCHEDULED if not standing.undoing:
            return _of_waiting(judged, standing, policy)
        case State.CONFIRMED if not standing.undoing and _disagrees(judged):
            return _review(judged)
    return Decision(Step.WAIT, judged.reason)


def recommend(judged: Judgement, policy: TypePolicy) -> ActionName | None:
    """Name the action that a person would take on this verdict; None where it takes more than a verdict."""
    match judged.verdict:
        case Verdict.ABSENT:
            return ActionName.REQUEUE
        case Verdict.CORRECT:
            return ActionName.CONFIRM
        case Verdict.NOT_APPLICABLE:
            return ActionName.CLOSE
    if judged.reason in {Reason.DIFFERS, Reason.SEVERAL} and policy.financial and policy.compensation:
        return ActionName.COMPENSATE
    return None


def look_again_at(
    judged: Judgement,
    policy: TypePolicy,
    *,
    looks: int,
    missed_at: datetime | None,
    now: datetime,
    deadline_at: datetime,
) -> datetime:
    """When to ask again: ever later, but at the deadline, and as soon as a second miss can prove absence."""
    at = next_look(policy.window, looks=looks, now=now)
    if judged.reason is Reason.FIRST_MISS:
        # A quarter of the lag at least, for a view that trails behind needs longer than the lag alone.
        pause = max(policy.visibility_lag / 4, timedelta(seconds=1))
        at = max((missed_at or now) + policy.visibility_lag, now + pause)
    return min(at, deadline_at) if deadline_at > now else at


def _reason(observation: Observation, verdict: Verdict) -> Reason:
    plain = {Verdict.DIVERGENT: Reason.DIFFERS, Verdict.CORRECT: Reason.AGREES, Verdict.ABSENT: Reason.ABSENT}
    if verdict in plain:
        return plain[verdict]
    if verdict is Verdict.NOT_APPLICABLE:
        return Reason.CANCELLED if observation.cancelled else Reason.SUPERSEDED
    if observation.failed:
        return Reason.FAILED
    if observation.candidates > 1:
        return Reason.SEVERAL
    if observation.partial:
        return Reason.PARTIAL
    if observation.candidates == 1 or not _is_fresh(observation):
        return Reason.OLD_VIEW
    return Reason.FIRST_MISS if observation.authoritative else Reason.UNPROVEN


def _is_fresh(observation: Observation) -> bool:
    if observation.as_of is None:
        return False
    return observation.sent_at is None or observation.as_of >= observation.sent_at + observation.visibility_lag


def _of_awaiting(judged: Judgement, standing: Standing, policy: TypePolicy) -> Decision:
    allowed = policy.on.get(judged.verdict, Response.REVIEW)
    match judged.verdict, allowed:
        case Verdict.CORRECT, Response.CONFIRM:
            return _confirm(judged)
        case Verdict.NOT_APPLICABLE, Response.CLOSE:
            return _close(judged)
        case Verdict.ABSENT, Response.RETRY:
            return _repeat(judged, standing, policy)
    if judged.reason not in LOOKED_AT_AGAIN:
        return _review(judged)
    if standing.overdue:
        return _review(judged, Reason.PAST_DEADLINE, Trigger.PAST_DEADLINE)
    return Decision(Step.WAIT, judged.reason)


def _repeat(judged: Judgement, standing: Standing, policy: TypePolicy) -> Decision:
    if standing.attempts >= policy.retry.max_attempts:
        return _review(judged, Reason.ATTEMPTS_USED_UP, Trigger.ATTEMPTS_USED_UP)
    if standing.overdue:
        return _review(judged, Reason.PAST_DEADLINE, Trigger.PAST_DEADLINE)
    if not standing.repeatable:
        return _review(judged, Reason.UNPROVEN)
    return Decision(Step.RETRY, judged.reason, State.RETRY_SCHEDULED, Trigger.VERDICT_ABSENT)


def _of_waiting(judged: Judgement, standing: Standing, policy: TypePolicy) -> Decision:
    """Never send again what exists; all else waits for its attempt, or for the person who has it."""
    allowed = policy.on.get(judged.verdict, Response.REVIEW)
    if (judged.verdict, allowed) == (Verdict.CORRECT, Response.CONFIRM):
        return _confirm(judged)
    superseded = judged.reason is Reason.SUPERSEDED and allowed is Response.CLOSE
    if superseded and standing.state is State.RETRY_SCHEDULED:
        return _close(judged)
    return Decision(Step.WAIT, judged.reason)


def _disagrees(judged: Judgement) -> bool:
    return judged.verdict in {Verdict.ABSENT, Verdict.DIVERGENT} or judged.reason is Reason.SEVERAL


def _confirm(judged: Judgement) -> Decision:
    return Decision(Step.CONFIRM, judged.reason, State.CONFIRMED, Trigger.VERDICT_CORRECT)


def _close(judged: Judgement) -> Decision:
    superseded = judged.reason is Reason.SUPERSEDED
    trigger = Trigger.SUPERSEDED if superseded else Trigger.VERDICT_NOT_APPLICABLE
    closed = ClosedReason.SUPERSEDED if superseded else ClosedReason.CANCELLED
    return Decision(Step.CLOSE, judged.reason, State.NOT_APPLICABLE, trigger, closed)


def _review(judged: Judgement, reason: Reason | None = None, trigger: Trigger | None = None) -> Decision:
    trigger = trigger or _REVIEW_TRIGGER[judged.verdict]
    return Decision(Step.REVIEW, reason or judged.reason, State.MANUAL_REVIEW, trigger)
