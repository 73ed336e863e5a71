"""What comes of asking for an idempotency key, and the answer that is kept under it."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TypeAlias

from dashboard.domain.keys import KeyState

LEASE = timedelta(seconds=60)
RETENTION = timedelta(days=30)

Header: TypeAlias = tuple[str, str]


@dataclass(frozen=True)
class Answer:
    """A determinate answer, kept to be sent again byte for byte."""

    status: int
    headers: tuple[Header, ...] = ()
    body: bytes = b""


@dataclass(frozen=True)
class Owned:
    """The key is ours: do the work, then complete, fail or release it with this token, or leave it pending."""

    tenant: str
    operation: str
    key: str
    token: str
    retaken: bool = False


@dataclass(frozen=True)
class Replay:
    """The work was done, or closed without an effect; `answer` is None where none is kept, or no longer."""

    record_id: int
    state: KeyState
    answer: Answer | None
    expired: bool
    completed_at: datetime | None
    expires_at: datetime | None
    expires_in: timedelta | None = None
    resource_ids: tuple[str, ...] = ()
    external_reference: str | None = None
    operation_id: str | None = None


@dataclass(frozen=True)
class Conflict:
    """The key stands for other content; `fields` names what differs, and is None where nobody can tell."""

    record_id: int
    fields: tuple[str, ...] | None


@dataclass(frozen=True)
class Unfinished:
    """Somebody is at work (`processing`), or what came of it is not known yet (`pending`)."""

    record_id: int
    state: KeyState
    retry_after: timedelta


Outcome: TypeAlias = Owned | Replay | Conflict | Unfinished
