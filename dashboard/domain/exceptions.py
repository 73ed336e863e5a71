"""Why an operation is in front of a person, told from its row alone."""

from datetime import datetime
from enum import StrEnum

from dashboard.domain.states import OPEN, Cause, State
from dashboard.domain.verdicts import Verdict


class Why(StrEnum):
    """A reason for being in the queue, the weightiest first."""

    DIVERGENT = "divergent"
    AMBIGUOUS = "ambiguous"
    EFFECT_EXISTS = "effect_exists"
    ABSENT = "absent"
    PERMANENT = "permanent"
    REVIEW = "review"
    OVERDUE = "overdue"


_BY_VERDICT = {
    Verdict.DIVERGENT: Why.DIVERGENT,
    Verdict.AMBIGUOUS: Why.AMBIGUOUS,
    Verdict.CORRECT: Why.EFFECT_EXISTS,
    Verdict.ABSENT: Why.ABSENT,
}


def why_here(
    *, state: State, verdict: Verdict | None, cause: Cause | None, deadline_at: datetime, now: datetime
) -> tuple[Why, ...]:
    """The reasons an operation needs a person; empty where it is no exception (design section 2)."""
    reasons: tuple[Why, ...] = ()
    if state is State.MANUAL_REVIEW:
        reasons = (_why_in_review(verdict, cause),)
    if state in OPEN and deadline_at < now:
        reasons += (Why.OVERDUE,)
    return reasons


def _why_in_review(verdict: Verdict | None, cause: Cause | None) -> Why:
    if verdict in _BY_VERDICT:
        return _BY_VERDICT[verdict]
    if cause in (Cause.PERMANENT, Cause.REJECTED):
        return Why.PERMANENT
    return Why.REVIEW
