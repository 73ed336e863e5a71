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


# Why an operation is in review: each has exactly one of these.
IN_REVIEW = tuple(why for why in Why if why is not Why.OVERDUE)
FINAL_CAUSES = (Cause.PERMANENT, Cause.REJECTED)
BY_VERDICT = {
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
        reasons = (why_in_review(verdict, cause),)
    if state in OPEN and deadline_at < now:
        reasons += (Why.OVERDUE,)
    return reasons


def why_in_review(verdict: str | None, cause: str | None) -> Why:
    """The one reason why something is in review; words of a host that are no verdicts and causes say nothing."""
    if verdict in BY_VERDICT:
        return BY_VERDICT[Verdict(verdict)]
    if cause in FINAL_CAUSES:
        return Why.PERMANENT
    return Why.REVIEW
