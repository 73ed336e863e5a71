"""Fresh proof: whether what is known of an effect lets it be made again."""

from datetime import datetime, timedelta
from enum import StrEnum

from dashboard.domain.verdicts import Verdict


class Proof(StrEnum):
    """What is known of the effect of an operation that somebody wants to send again."""

    ABSENT = "absent"
    EXISTS = "exists"
    STALE = "stale"
    SENT_SINCE = "sent_since"
    UNPROVEN = "unproven"
    NEVER = "never"

    @property
    def needs_override(self) -> bool:
        """Whether sending again would be done without proof."""
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
