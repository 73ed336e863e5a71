"""What a host hands in, what its handler gets, and what the handler answers: the words of the Python door."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from types import MappingProxyType
from typing import Any


def _nothing() -> Mapping[str, Any]:
    return MappingProxyType({})


@dataclass(frozen=True)
class NewOperation:
    """One business intention to register.

    `operation_id` is the host's own and unique; `expected` is the result that must exist. `amount` is a plain
    decimal and needs a `currency`. `due_at` puts off the first attempt; without `deadline_at` policy sets it.
    """

    operation_id: str
    tenant: str
    type: str
    entity_type: str
    entity_id: str
    destination: str
    expected: Mapping[str, Any] = field(default_factory=_nothing)
    expected_version: int | None = None
    idempotency_key: str | None = None
    correlation_id: str | None = None
    amount: Decimal | str | None = None
    currency: str | None = None
    due_at: datetime | None = None
    deadline_at: datetime | None = None


@dataclass(frozen=True)
class Message:
    """An outbox message to publish once the host's transaction is committed; `aggregate_key` orders messages."""

    sink: str
    topic: str
    aggregate_key: str
    payload: Mapping[str, Any]


@dataclass(frozen=True)
class Registered:
    """The operation under this id; `new` is False where the same registration was there already."""

    operation_id: str
    new: bool


@dataclass(frozen=True)
class Parent:
    """What a compensation undoes."""

    operation_id: str
    remote_id: str | None
    idempotency_key: str


class Sending:
    """How far one attempt got: `begun` once the request may have left, `done` once it was answered."""

    def __init__(self) -> None:
        self.begun = False
        self.done = False
        self.error: BaseException | None = None


@dataclass(frozen=True)
class Work:
    """A claimed operation, held until its lease ends.

    `idempotency_key` is the same for every attempt: give it to the destination. `attempts` counts this one.
    `heartbeat()` extends the lease; it raises LostRaceError where somebody else has taken over, and then nothing
    more may be sent. `compensates` names what a compensation undoes.
    """

    operation_id: str
    tenant: str
    type: str
    entity_type: str
    entity_id: str
    expected_version: int | None
    expected: Mapping[str, Any]
    destination: str
    idempotency_key: str
    amount: Decimal | None
    currency: str | None
    correlation_id: str | None
    attempts: int
    compensates: Parent | None
    number: int = field(repr=False)
    token: str = field(repr=False)
    destination_failing: bool = field(repr=False)
    heartbeat: Callable[[], None] = field(repr=False, compare=False)
    progress: Sending = field(default_factory=Sending, repr=False, compare=False)

    @property
    def named(self) -> dict[str, str | None]:
        """What logs call it by."""
        return {"operation_id": self.operation_id, "correlation_id": self.correlation_id}

    @contextmanager
    def sending(self) -> Iterator[None]:
        """Mark the one request that makes the effect: only an error raised in here can prove that it did not start."""
        again = self.progress.begun
        self.progress.begun = True
        try:
            yield
        except BaseException as error:
            # After a first request, an error of a second proves nothing about the first.
            self.progress.error = None if again else error
            raise
        self.progress.done = True


@dataclass(frozen=True)
class Confirmed:
    """The destination said that the effect exists: its own id for it, and what proves it."""

    remote_id: str | None = None
    evidence: Mapping[str, Any] = field(default_factory=_nothing)


@dataclass(frozen=True)
class Sent:
    """The destination took the request and will confirm later; until then the reconciler asks."""

    remote_id: str | None = None
    evidence: Mapping[str, Any] = field(default_factory=_nothing)
