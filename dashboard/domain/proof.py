"""Fresh proof: whether what is known of an effect lets it be made again, or undone."""

from datetime import datetime, timedelta
from enum import StrEnum

from dashboard.domain.verdicts import Verdict


class Proof(StrEnum):
    """What is known of the effect of an operation that somebody wants to send again, or to undo."""

    ABSENT = "absent"
    EXISTS = "exists"
    STALE = "stale"
    SENT_SINCE = "sent_since"
    UNPROVEN = "unproven"
    NEVER = "never"
    NO_EFFECT = "no_effect"

    @property
    def needs_override(self) -> bool:
        """Whether it would be done without proof, or against it."""
        return self not in {Proof.ABSENT, Proof.EXISTS}


def proof_of_absence(
    verdict: Verdict | None,
    *,
    verdict_at: datetime | None,
    sent_at: datetime | None,
    now: datetime,
    freshness: timedelta,
) -> Proof:
    """Weigh the last verdict: only `absent`, younger than `freshness` and than the last sending, is proof.

    A time ahead of `now` proves nothing.
    """
    if verdict is None or verdict_at is None:
        return Proof.NEVER
    if verdict is Verdict.CORRECT:
        return Proof.EXISTS
    if verdict is not Verdict.ABSENT:
        return Proof.UNPROVEN
    if sent_at is not None and sent_at > verdict_at:
        return Proof.SENT_SINCE
    return Proof.ABSENT if timedelta() <= now - verdict_at <= freshness else Proof.STALE


def proof_of_effect(verdict: Verdict | None) -> Proof | None:
    """What stands against undoing the effect: the last look found none, however long ago; None where nothing does."""
    return Proof.NO_EFFECT if verdict is Verdict.ABSENT else None
