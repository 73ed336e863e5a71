"""A host's handlers: which function sends which type of operation, and what its errors mean."""

import importlib
import logging
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from typing import TypeAlias

from dashboard.db import assert_outside_transaction
from dashboard.domain.causes import AttemptFailedError, CauseTable, Failure
from dashboard.domain.errors import InvalidInputError, Problem
from dashboard.domain.states import Cause
from dashboard.domain.work import Confirmed, Sent, Work
from dashboard.logs import about

Outcome: TypeAlias = Confirmed | Sent | Failure
Handle: TypeAlias = Callable[[Work], Confirmed | Sent]

log = logging.getLogger("dashboard.worker")

NO_HANDLER = "Nothing here can send operations of this type."
NO_ANSWER = "The handler returned neither Confirmed nor Sent."


@dataclass(frozen=True)
class Handler:
    """A function that makes the effect; with `single_request` all of it counts as the one request."""

    handle: Handle
    causes: CauseTable
    single_request: bool


class Handlers:
    """The handlers of a host by operation type."""

    def __init__(self, *, causes: CauseTable | None = None) -> None:
        self._causes = causes or CauseTable()
        self._by_type: dict[str, Handler] = {}

    @property
    def types(self) -> frozenset[str]:
        """The types that can be sent."""
        return frozenset(self._by_type)

    def handles(
        self, *types: str, causes: CauseTable | None = None, single_request: bool = False
    ) -> Callable[[Handle], Handle]:
        """Register a function for these types.

        The function marks its request with `work.sending()`. Where it is one request and nothing else,
        `single_request=True` says so and saves the mark. Raises ValueError for a type that has a handler already.
        """

        def register(handle: Handle) -> Handle:
            for each in types:
                if each in self._by_type:
                    raise ValueError(f"two handlers for {each}")
                self._by_type[each] = Handler(handle, causes or self._causes, single_request)
            return handle

        return register

    def attempt(self, work: Work) -> Outcome:
        """Run the handler of this type outside any transaction; what it raises is an answer too."""
        handler = self._by_type.get(work.type)
        if handler is None:
            return Failure(Cause.NOT_SENT, NO_HANDLER, rule="no handler")
        with about(**work.named, destination=work.destination):
            outcome = attempt(handler, work)
            cause = outcome.cause.value if isinstance(outcome, Failure) else None
            # What went well is in the history already: a line for each would cost as much as its sending.
            level = logging.INFO if cause else logging.DEBUG
            log.log(level, "attempted", extra={"outcome": type(outcome).__name__.lower(), "cause": cause})
        return outcome


def attempt(handler: Handler, work: Work) -> Outcome:
    """Run one handler and turn an error into a failure with its cause; InsideTransactionError inside a transaction."""
    assert_outside_transaction()
    try:
        with work.sending() if handler.single_request else nullcontext():
            answer: object = handler.handle(work)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever a host raises, the effect may have happened
        return _failure_of(error, work, handler.causes)
    if isinstance(answer, Confirmed | Sent):
        return answer
    return Failure(Cause.SENT_UNKNOWN, NO_ANSWER, rule="no answer")


def load(name: str) -> Handlers:
    """Import `module:registry`; InvalidInputError where there is no such thing."""
    module, _, attribute = name.partition(":")
    try:
        found = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise InvalidInputError((Problem("--handlers", "handlers_unknown", {"reason": str(error)}),)) from error
    if not isinstance(found, Handlers):
        raise InvalidInputError((Problem("--handlers", "handlers_unknown", {"reason": f"{name} is no Handlers"}),))
    return found


def _failure_of(error: BaseException, work: Work, causes: CauseTable) -> Failure:
    """Trust an error to prove that nothing was sent only if the marked request itself raised it."""
    if isinstance(error, AttemptFailedError):
        return error.failure
    request_error = work.progress.error
    if request_error is not None and request_error in _chain(error):
        return causes.classify(request_error)
    return Failure(Cause.SENT_UNKNOWN, f"{type(error).__name__}: {error}", rule="outside sending")


def _chain(error: BaseException) -> list[BaseException]:
    chain: list[BaseException] = []
    found: BaseException | None = error
    while found is not None and found not in chain:
        chain.append(found)
        found = found.__cause__ or found.__context__
    return chain
