"""`Idempotency`: a host's rules, and each step of a request in a transaction of its own or of the host's."""

import dataclasses
import logging
import re
import secrets
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Protocol, TypeAlias, TypeVar

from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import Session

from dashboard.db import Database, assert_outside_transaction, reading, transact
from dashboard.domain.errors import InvalidInputError, LostRaceError, NotFoundError, Problem
from dashboard.domain.fingerprint import field_digests, fingerprint
from dashboard.domain.key_syntax import LONGEST_KEY, Profile
from dashboard.domain.reservations import Answer, Outcome, Owned, Replay, Unfinished
from dashboard.domain.text import TextError, check_text
from dashboard.idempotency.rules import RuleBook
from dashboard.services import reservations
from dashboard.services.reservations import Request

T = TypeVar("T")
Door: TypeAlias = Session | Connection

LOG = logging.getLogger("dashboard.idempotency")
FIRST_PAUSE_SECONDS = 0.05
LONGEST_PAUSE_SECONDS = 0.5
LONGEST = {"tenant": 64, "operation": 64, "key": LONGEST_KEY}
_WAIT = re.compile(r'(?:^|,)\s*wait\s*=\s*"?(\d{1,6})"?\s*(?=[,;]|$)', re.IGNORECASE)


class Runs(Protocol):
    """Runs a unit of work in a transaction."""

    def __call__(self, unit: Callable[[Session], T], /) -> T: ...


@dataclass(frozen=True)
class Idempotency:
    """The door of a host: `secret` keys the digests that name differing fields, `rules` say what holds for whom.

    Without `within` each step is committed at once, so that others see the reservation while the work is done.
    """

    database: Database
    secret: bytes
    rules: RuleBook = field(default_factory=RuleBook)
    profile: Profile = Profile.DEFAULT
    session: Session | None = None

    def within(self, door: Door) -> "Idempotency":
        """The same door in the host's own transaction: the reservation, the change and its outcome are one commit."""
        return dataclasses.replace(self, session=door if isinstance(door, Session) else _joined(door))

    def request(
        self,
        *,
        tenant: str,
        operation: str,
        key: str,
        payload: object,
        correlation_id: str | None = None,
        operation_id: str | None = None,
        actor_id: str | None = None,
    ) -> Request:
        """A request for a key, its payload compared by the operation's rules; PayloadError where it has no meaning."""
        rules = self.rules.of(operation)
        return self.request_for(
            tenant=tenant,
            operation=operation,
            key=key,
            fingerprint=fingerprint(payload, rules=rules.fields),
            digests=field_digests(payload, secret=self.secret, rules=rules.fields),
            correlation_id=correlation_id,
            operation_id=operation_id,
            actor_id=actor_id,
        )

    def request_for(self, *, tenant: str, operation: str, key: str, **values: object) -> Request:
        """A request whose content was compared elsewhere; InvalidInputError with one Problem for each bad name."""
        named = {"tenant": tenant, "operation": operation, "key": key}
        problems = [problem for name, value in named.items() if (problem := _problem(name, value))]
        if problems:
            raise InvalidInputError(tuple(problems))
        rules = self.rules.of(operation)
        return Request(**named, lease=rules.lease, local_only=rules.local_only, **values)  # type: ignore[arg-type]

    def reserve(self, request: Request) -> Outcome:
        """Take the key or learn what it stands for; the database's errors mean that nothing may be done."""
        if self.session is not None:
            return reservations.reserve(self.session, request)
        named = dataclasses.replace(request, token=secrets.token_hex(16))
        try:
            return self._reserve(named)
        except DBAPIError as error:
            if not error.connection_invalidated:
                raise
        # The connection was cut, perhaps during COMMIT: the record may be there, and may be ours.
        found = self._run(lambda session: reservations.meet(session, named, token=named.token))
        return found or self._reserve(named)

    def complete(
        self,
        owned: Owned,
        answer: Answer | None,
        *,
        resource_ids: Sequence[str] = (),
        external_reference: str | None = None,
        operation_id: str | None = None,
    ) -> None:
        """Keep the answer of work that was done; LostRaceError, as below, where the key is no longer ours."""
        self._tell(
            lambda session: reservations.complete(
                session,
                owned,
                answer,
                retention=self.rules.of(owned.operation).retention,
                resource_ids=resource_ids,
                external_reference=external_reference,
                operation_id=operation_id,
            )
        )

    def fail(self, owned: Owned, answer: Answer | None, *, operation_id: str | None = None) -> None:
        """Keep the answer of work that certainly had no effect and is not to be tried again under this key."""
        retention = self.rules.of(owned.operation).retention
        self._tell(
            lambda session: reservations.fail(session, owned, answer, retention=retention, operation_id=operation_id)
        )

    def release(self, owned: Owned) -> None:
        """Give the key back: nothing was begun."""
        self._tell(lambda session: reservations.release(session, owned))

    def leave_pending(
        self, owned: Owned, *, external_reference: str | None = None, operation_id: str | None = None
    ) -> None:
        """The effect may have happened: nobody runs this work again until that is known."""
        self._tell(
            lambda session: reservations.leave_pending(
                session, owned, external_reference=external_reference, operation_id=operation_id
            )
        )

    def extend(self, owned: Owned) -> None:
        """Hold the key for another lease, from now."""
        self._tell(lambda session: reservations.extend(session, owned, lease=self.rules.of(owned.operation).lease))

    def read(self, *, tenant: str, operation: str, key: str) -> Replay | Unfinished:
        """What the key stands for, without counting a replay; NotFoundError where nobody sent it."""
        if self.session is not None:
            return reservations.read(self.session, tenant=tenant, operation=operation, key=key)
        with reading(self.database) as session:
            return reservations.read(session, tenant=tenant, operation=operation, key=key)

    def wait(self, request: Request, found: Outcome, *, longest: timedelta) -> Outcome:
        """Ask again until the outcome is known or the time is over; no transaction is open meanwhile."""
        deadline = time.monotonic() + min(longest, self.rules.of(request.operation).longest_wait).total_seconds()
        pause = FIRST_PAUSE_SECONDS
        while isinstance(found, Unfinished) and time.monotonic() + pause < deadline:
            assert_outside_transaction()
            time.sleep(pause)
            pause = min(pause * 2, LONGEST_PAUSE_SECONDS)
            if self._is_settled(request):
                return self.reserve(request)
        return found

    def _is_settled(self, request: Request) -> bool:
        try:
            seen = self.read(tenant=request.tenant, operation=request.operation, key=request.key)
        except NotFoundError:
            # Its owner gave the key back: whoever asks next may take it.
            return True
        return isinstance(seen, Replay)

    def _reserve(self, request: Request) -> Outcome:
        return self._run(lambda session: reservations.reserve(session, request))

    def _tell(self, unit: Callable[[Session], None]) -> None:
        try:
            self._run(unit)
        except DBAPIError as error:
            if not error.connection_invalidated or self.session is not None:
                raise
        else:
            return
        try:
            self._run(unit)
        except LostRaceError:
            LOG.info("the connection was cut during COMMIT, and it held")

    def _run(self, unit: Callable[[Session], T]) -> T:
        return unit(self.session) if self.session is not None else transact(self.database, unit)


def wait_of(prefer: str | None) -> timedelta | None:
    """How long the caller wants to wait, from a header `Prefer: wait=N` (RFC 7240, section 4.3), or None."""
    found = _WAIT.search(prefer or "")
    return timedelta(seconds=int(found.group(1))) if found else None


def _joined(connection: Connection) -> Session:
    """A session that lives within the host's connection and leaves its commit to the host."""
    if not connection.in_transaction():
        connection.begin()
    return Session(connection, join_transaction_mode="rollback_only")


def _problem(name: str, value: str) -> Problem | None:
    if not value:
        return Problem(name, "missing")
    if len(value) > LONGEST[name]:
        return Problem(name, "too_long", {"max_length": LONGEST[name]})
    try:
        check_text(value)
    except TextError as error:
        return Problem(name, error.code)
    return None
