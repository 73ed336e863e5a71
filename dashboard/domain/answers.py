"""What is asked of a destination about one operation, and what came back before anybody judges it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from types import MappingProxyType

EXPECTED = "expected."


@dataclass(frozen=True)
class Question:
    """One operation, as far as a probe needs it. `now` is the database's time just before asking."""

    operation_id: str
    tenant: str
    type: str
    entity_type: str
    entity_id: str
    now: datetime
    expected: Mapping[str, object] = field(default_factory=lambda: MappingProxyType({}))
    remote_id: str | None = None
    idempotency_key: str | None = None
    sent_at: datetime | None = None

    def placeholders(self) -> dict[str, str | None]:
        """The values that a policy's path or query may name."""
        return {
            "operation_id": self.operation_id,
            "tenant": self.tenant,
            "type": self.type,
            "entity_type": self.entity_type,
            "entity_id": self.entity_id,
            "remote_id": self.remote_id,
            "idempotency_key": self.idempotency_key,
        }

    def in_path(self) -> dict[str, str | None]:
        """The same for the path of an address, with `expected.<name>` for each plain field of what is expected."""
        plain = {name: value for name, value in self.expected.items() if type(value) in {str, int}}
        return {**self.placeholders(), **{f"{EXPECTED}{name}": str(value) for name, value in plain.items()}}


@dataclass(frozen=True)
class Answer:
    """What the destination said, read but not judged.

    `candidates` are the effects that may be ours; `as_of` is when the view was true, None when it cannot be told.
    A probe that failed says so in `failed` (a stable code) and `detail` (words for people), and never raises.
    `retry_after` is how long the destination asks to be left alone. `received` names what the destination sent by
    itself where the answer rests on that: it is about this very effect, so no visibility lag can hide it.
    """

    candidates: tuple[Mapping[str, object], ...] = ()
    as_of: datetime | None = None
    failed: str | None = None
    detail: str = ""
    partial: bool = False
    cancelled: bool = False
    superseded: bool = False
    authoritative: bool = True
    raw_hash: str | None = None
    status: int | None = None
    remote_id: str | None = None
    retry_after: timedelta | None = None
    received: tuple[Mapping[str, object], ...] = ()

    @property
    def is_away(self) -> bool:
        """Whether the failure is of the destination as a whole, so that asking it more would only do harm."""
        return self.failed in AWAY


AWAY = frozenset({"unreachable", "timed_out", "tls_failed", "throttled", "unauthorised", "server_error"})


def failure(code: str, detail: str = "", *, status: int | None = None, retry_after: timedelta | None = None) -> Answer:
    """An answer that is none, with the reason."""
    return Answer(failed=code, detail=detail, authoritative=False, status=status, retry_after=retry_after)
