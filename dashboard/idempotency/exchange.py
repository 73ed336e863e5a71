"""One request over HTTP, in two halves around the host's handler.

1. `admit`: authorise, read key and content, reserve. Nothing is said about a key before the caller is authorised.
2. The handler runs, inside `running(execution)`.
3. `conclude`: by its status, or because it raised, the outcome is kept, the key given back, or left pending.
"""

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from urllib.parse import quote

from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from dashboard.domain.errors import InvalidInputError, LostRaceError
from dashboard.domain.fingerprint import PayloadError
from dashboard.domain.key_syntax import read_key
from dashboard.domain.reservations import Answer, Conflict, Header, Outcome, Owned, Replay, Unfinished
from dashboard.domain.text import visible
from dashboard.idempotency import answers
from dashboard.idempotency.content import Content
from dashboard.idempotency.door import Idempotency, wait_of
from dashboard.idempotency.rules import NEVER_KEPT, Rules
from dashboard.services.reservations import Request

LOG = logging.getLogger("dashboard.idempotency")
AWAY = (DBAPIError, PoolTimeoutError)
CLIENT_ERROR = 400
SERVER_ERROR = 500
LONGEST_CORRELATION = 128

_current: ContextVar["Execution | None"] = ContextVar("execution", default=None)


class NotProtectedError(RuntimeError):
    """`current()` outside a protected request, or for one that came without a key."""


@dataclass
class Execution:
    """The work that owns a key, as its handler sees it.

    `begun` is True from the moment at which the effect may have happened. `operation_id` names the operation that the
    reconciler settles together with the key; `resource_ids` and `external_reference` are kept with the outcome.
    """

    door: Idempotency
    owned: Owned
    begun: bool = False
    operation_id: str | None = None
    external_reference: str | None = None
    resource_ids: list[str] = field(default_factory=list)

    @property
    def rules(self) -> Rules:
        return self.door.rules.of(self.owned.operation)

    def begin(self) -> None:
        """Say that the effect may happen from here on: call it right before."""
        self.begun = True

    def extend(self) -> None:
        """Hold the key for another lease; LostRaceError where it is somebody else's, and then do nothing more."""
        self.door.extend(self.owned)


@dataclass(frozen=True)
class Asked:
    """A request as an edge hands it in; `content` is called once the key is known to be one."""

    tenant: str
    operation: str
    key: str | None
    prefer: str | None
    content: Callable[[Rules, bytes], Content]
    authorised: Callable[[], bool]
    location: Callable[[Request], str]
    actor_id: str | None = None
    correlation_id: str | None = None


def current() -> Execution:
    """The execution whose handler is running."""
    execution = _current.get()
    if execution is None:
        raise NotProtectedError("this code runs outside a request with an idempotency key")
    return execution


@contextmanager
def running(execution: Execution) -> Iterator[None]:
    """Let `current()` find the execution for the length of a block."""
    mark = _current.set(execution)
    try:
        yield
    finally:
        _current.reset(mark)


def admit(door: Idempotency, asked: Asked) -> Execution | Answer:
    """Give the execution that owns the key, or the answer for whoever does not."""
    if not asked.authorised():
        return answers.forbidden()
    try:
        request = _request(door, asked)
    except InvalidInputError as error:
        return answers.bad_key(error)
    except PayloadError as error:
        return answers.bad_body(error)
    try:
        return _reserved(door, asked, request)
    except (*AWAY, LostRaceError):
        LOG.exception("a key could not be reserved, so nothing was done")
        return answers.unavailable()


def conclude(execution: Execution, answer: Answer | None, *, status: int) -> None:
    """Keep what came of the work; `answer` is None where it cannot be kept, though the work was done.

    2xx and 3xx are kept. 4xx is the handler's word that nothing was done: the key is given back, unless the work had
    begun; then it is kept as a failure that is certain. 5xx says nothing about the effect: pending.
    """
    door, owned = execution.door, execution.owned
    if status >= SERVER_ERROR:
        interrupted(execution)
    elif status >= CLIENT_ERROR and not execution.begun:
        _tell(execution, lambda: door.release(owned))
    elif status >= CLIENT_ERROR:
        _tell(execution, lambda: door.fail(owned, answer, operation_id=execution.operation_id))
    else:
        _tell(
            execution,
            lambda: door.complete(
                owned,
                answer,
                resource_ids=execution.resource_ids,
                external_reference=execution.external_reference,
                operation_id=execution.operation_id,
            ),
        )


def interrupted(execution: Execution) -> None:
    """The handler raised, or its answer broke off or was a 5xx: pending, unless nothing can have happened.

    Nothing can have where the effect would have been one commit with the outcome, or where the handler marks its
    beginning and had not come to it.
    """
    door, owned, rules = execution.door, execution.owned, execution.rules
    if rules.local_only or (rules.marked and not execution.begun):
        _tell(execution, lambda: door.release(owned))
        return
    reference, operation_id = execution.external_reference, execution.operation_id
    _tell(execution, lambda: door.leave_pending(owned, external_reference=reference, operation_id=operation_id))


def kept_answer(execution: Execution, *, status: int, headers: Sequence[Header], body: bytes) -> Answer | None:
    """What of an answer is kept: allowed headers and the exact body; None where it is larger than the rules allow."""
    if len(body) > execution.rules.max_answer:
        return None
    return Answer(status, allowed(headers, execution.rules), body)


def allowed(headers: Sequence[Header], rules: Rules) -> tuple[Header, ...]:
    """The headers that are kept: what the rules name, never what belongs to one exchange or one person."""
    return tuple(
        (name, value) for name, value in headers if name.lower() in rules.headers and name.lower() not in NEVER_KEPT
    )


def expiry(execution: Execution, status: int) -> tuple[Header, ...]:
    """For how long an answer of this status will be sent again; nothing where it is not kept."""
    kept = status < CLIENT_ERROR or (execution.begun and status < SERVER_ERROR)
    return (answers.expiry(execution.rules.retention),) if kept else ()


def default_location(request: Request) -> str:
    """Where our API tells what a key stands for."""
    return f"/api/v1/idempotency/{quote(request.operation, safe='')}/{quote(request.key, safe='')}"


def _request(door: Idempotency, asked: Asked) -> Request:
    key = read_key(asked.key, profile=door.profile)
    content = asked.content(door.rules.of(asked.operation), door.secret)
    return door.request_for(
        tenant=asked.tenant,
        operation=asked.operation,
        key=key,
        fingerprint=content.fingerprint,
        digests=content.digests,
        actor_id=asked.actor_id,
        correlation_id=_correlation(asked.correlation_id),
    )


def _reserved(door: Idempotency, asked: Asked, request: Request) -> Execution | Answer:
    found = door.reserve(request)
    longest = wait_of(asked.prefer)
    if longest is not None and door.session is None:
        found = door.wait(request, found, longest=longest)
    if isinstance(found, Owned):
        return Execution(door, found)
    return _answer(door, found, location=asked.location(request))


def _answer(door: Idempotency, found: Outcome, *, location: str) -> Answer:
    match found:
        case Replay():
            return answers.replay(found)
        case Conflict():
            return answers.conflict(found, profile=door.profile)
        case Unfinished():
            return answers.unfinished(found, location=location, profile=door.profile)
    raise AssertionError("unreachable")


def _tell(execution: Execution, step: Callable[[], None]) -> None:
    """Record an outcome. Where that fails the answer is true all the same; the key stays held, and becomes pending.

    Within the host's transaction the change must not outlive its outcome, so there the error goes on.
    """
    if execution.door.session is not None:
        step()
        return
    try:
        step()
    except LostRaceError:
        LOG.warning("the key %s was settled by somebody else meanwhile", visible(execution.owned.key))
    except AWAY:
        LOG.exception("the outcome under the key %s could not be recorded", visible(execution.owned.key))


def _correlation(value: str | None) -> str | None:
    return visible(value)[:LONGEST_CORRELATION] if value else None
