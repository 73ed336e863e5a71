"""Whether what a person did had the effect they meant, as a later look at the destination shows."""

from datetime import datetime, timedelta
from enum import StrEnum

from dashboard.domain.actions import ActionName
from dashboard.domain.responses import Reason
from dashboard.domain.verdicts import Verdict


class Outcome(StrEnum):
    """What became of an action; an action without one asked nothing of the destination."""

    TO_VERIFY = "to_verify"
    VERIFIED = "verified"
    NO_EFFECT = "no_effect"
    DUPLICATED = "duplicated"


# What a person says about the effect (confirm, close), or asks for (requeue, compensate), a look can bear out or not.
GRADED = frozenset({ActionName.REQUEUE, ActionName.COMPENSATE, ActionName.CONFIRM, ActionName.CLOSE})
_SENT = frozenset({ActionName.REQUEUE, ActionName.COMPENSATE})
_SEEN = frozenset({Verdict.CORRECT, Verdict.DIVERGENT})


def grade(
    action: ActionName,
    *,
    verdict: Verdict,
    reason: Reason,
    executed_at: datetime,
    sent_at: datetime | None,
    window: timedelta,
    now: datetime,
) -> Outcome | None:
    """Grade an action by a look; None where the look says nothing about it (docs/decisions.md has the table).

    What was asked for is missed only once it was sent after the decision, and the window to look has passed since.
    """
    if reason is Reason.SEVERAL:
        return Outcome.DUPLICATED
    if action is ActionName.CLOSE:
        return Outcome.NO_EFFECT if verdict in _SEEN else None
    if action in _SENT and (sent_at is None or sent_at < executed_at):
        return Outcome.VERIFIED if verdict is Verdict.CORRECT else None
    if verdict is Verdict.CORRECT:
        return Outcome.VERIFIED
    if verdict is Verdict.DIVERGENT:
        return Outcome.NO_EFFECT
    if verdict is Verdict.ABSENT and (action not in _SENT or (sent_at is not None and now - sent_at >= window)):
        return Outcome.NO_EFFECT
    return None
