"""What happens when an idempotency key is sent again, and which records wait for something that never came.

The content is compared first: under a known key other content is always refused (409, `idempotency_key_reused`).
"""

from datetime import datetime, timedelta
from enum import StrEnum

PENDING_LONG = timedelta(hours=1)
# Under such operations our own API keeps what it answered; no host may use one, and nobody but the caller reads it.
OWN_PREFIX = "api:"


class KeyState(StrEnum):
    """What is known of the work behind a key."""

    PROCESSING = "processing"
    PENDING = "pending"
    COMPLETED = "completed"
    FAILED = "failed"


class Resend(StrEnum):
    """What the sender of a known key with the same content gets; in no case is the work done again."""

    REPLAY = "replay"
    WITHOUT_ANSWER = "without_answer"
    EXPIRED = "expired"
    IN_WORK = "in_work"
    LEASE_LOST = "lease_lost"
    UNKNOWN = "unknown"


class Stuck(StrEnum):
    """Why an unsettled record needs a look: its owner went silent, or its outcome has been unknown for long."""

    SILENT = "silent"
    LATE = "late"


UNSETTLED = frozenset({KeyState.PROCESSING, KeyState.PENDING})


def resend(
    state: str, *, status: int | None, lease_until: datetime, expires_at: datetime | None, now: datetime
) -> Resend:
    """Tell what the same content under the same key gets (design section 6); unsettled records never expire."""
    if state == KeyState.PROCESSING:
        return Resend.IN_WORK if lease_until > now else Resend.LEASE_LOST
    if state not in {KeyState.COMPLETED, KeyState.FAILED}:
        return Resend.UNKNOWN
    if expires_at is not None and expires_at <= now:
        return Resend.EXPIRED
    return Resend.WITHOUT_ANSWER if status is None else Resend.REPLAY


def is_stuck(state: str, *, lease_until: datetime, created_at: datetime, now: datetime) -> bool:
    """Tell whether a record needs a look: its worker went silent, or its outcome has been unknown for long."""
    if state == KeyState.PROCESSING:
        return lease_until <= now
    return state == KeyState.PENDING and now - created_at > PENDING_LONG
