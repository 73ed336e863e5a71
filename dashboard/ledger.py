"""The Python door: a host writes its operations down and says what became of them, in its own transactions.

1. `register` an operation, and the message that announces it, in the transaction of the change that wants it.
2. Give `Handlers` to `dashboard worker`, or `claim` and `perform` in a loop of your own.
3. Or record outcomes yourself: `confirm`, `await_confirmation`, `record_failure`, `schedule_retry`, `send_to_review`.

A door is the host's own SQLAlchemy session or connection; nothing here commits it. Flask is not needed.
`docs/integrate-python.md` shows all of it at work.
"""

import os
import socket
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import TypeAlias

from sqlalchemy import Connection
from sqlalchemy.orm import Session

from dashboard.db import Database, assert_outside_transaction, transact
from dashboard.domain.causes import INSIDE, AttemptFailedError, CauseTable, Failure
from dashboard.domain.errors import (
    InvalidInputError,
    LostRaceError,
    NotFoundError,
    OperationsError,
    Problem,
    TransitionError,
)
from dashboard.domain.permissions import Actor
from dashboard.domain.policy import Policies
from dashboard.domain.states import ActorKind, Cause, State
from dashboard.domain.work import Confirmed, Message, NewOperation, Parent, Registered, Sent, Work
from dashboard.services import attempts, leases, registration
from dashboard.services import work as working
from dashboard.services.handlers import Handlers
from dashboard.services.policies import load_policies
from dashboard.services.registration import OperationIdTakenError

__all__ = [
    "INSIDE",
    "AttemptFailedError",
    "Cause",
    "CauseTable",
    "Confirmed",
    "Database",
    "Failure",
    "Handlers",
    "InvalidInputError",
    "LostRaceError",
    "Message",
    "NewOperation",
    "NotFoundError",
    "OperationIdTakenError",
    "OperationsError",
    "Parent",
    "Policies",
    "Problem",
    "Registered",
    "Sent",
    "State",
    "TransitionError",
    "Work",
    "assert_outside_transaction",
    "await_confirmation",
    "claim",
    "confirm",
    "heartbeat",
    "load_policies",
    "perform",
    "record_attempt",
    "record_failure",
    "register",
    "schedule_retry",
    "send_to_review",
    "withdraw",
]

Door: TypeAlias = Session | Connection

DEFAULTS = Policies()
HOST = Actor(ActorKind.API, "host")


def worker_actor() -> Actor:
    """This process as a worker: its machine and process number."""
    return Actor(ActorKind.WORKER, f"worker-{socket.gethostname()[:200]}-{os.getpid()}")


def register(
    door: Door,
    operation: NewOperation,
    *,
    message: Message | None = None,
    policies: Policies = DEFAULTS,
    actor: Actor = HOST,
) -> Registered:
    """Write an operation down before anything is sent; the same registration again changes nothing.

    Raises InvalidInputError with one Problem for each bad field, and OperationIdTakenError where the id stands for
    something else.
    """
    with _session(door) as session:
        return registration.register(session, operation, policies=policies, actor=actor, message=message)


def withdraw(door: Door, operation_id: str, *, reason: str, actor: Actor = HOST) -> None:
    """Take back an operation that nobody has begun; NotFoundError, TransitionError or LostRaceError otherwise."""
    with _session(door) as session:
        registration.withdraw(session, operation_id=operation_id, reason=reason, actor=actor)


def claim(
    database: Database,
    *,
    types: Collection[str],
    policies: Policies = DEFAULTS,
    limit: int = leases.AT_ONCE,
    lease: timedelta = leases.LEASE,
    actor: Actor | None = None,
) -> tuple[Work, ...]:
    """Claim up to `limit` (at most 100) due operations and commit that: each is ours until its lease ends."""
    assert_outside_transaction()

    def extend(work: Work) -> None:
        heartbeat(database, work, lease=lease)

    asking = actor or worker_actor()
    return transact(
        database,
        lambda session: leases.claim(
            session, types=types, policies=policies, actor=asking, heartbeat=extend, limit=limit, lease=lease
        ),
    )


def heartbeat(database: Database, work: Work, *, lease: timedelta = leases.LEASE) -> None:
    """Extend the lease from now; LostRaceError where it is somebody else's, and then send nothing more."""
    transact(database, lambda session: leases.heartbeat(session, work, lease=lease))


def perform(
    database: Database,
    work: Work,
    handlers: Handlers,
    *,
    policies: Policies = DEFAULTS,
    actor: Actor | None = None,
) -> None:
    """Run the handler of claimed work outside any transaction and record what became of it."""
    working.perform(database, working.Context(policies, actor or worker_actor(), handlers), work)


def confirm(
    door: Door, work: Work, confirmed: Confirmed, *, policies: Policies = DEFAULTS, actor: Actor | None = None
) -> State:
    """The destination said that the effect exists; LostRaceError where the lease is gone, as in all that follow."""
    with _session(door) as session:
        return attempts.confirm(session, work, confirmed, policies=policies, actor=actor or worker_actor())


def await_confirmation(
    door: Door, work: Work, sent: Sent, *, policies: Policies = DEFAULTS, actor: Actor | None = None
) -> State:
    """The destination took the request and confirms later: the reconciler asks."""
    with _session(door) as session:
        return attempts.await_confirmation(session, work, sent, policies=policies, actor=actor or worker_actor())


def record_attempt(
    door: Door, work: Work, failure: Failure, *, policies: Policies = DEFAULTS, actor: Actor | None = None
) -> None:
    """Note a failed try and keep the operation in hand, such as before an immediate second try."""
    with _session(door) as session:
        attempts.record_attempt(session, work, failure, policies=policies, actor=actor or worker_actor())


def record_failure(
    door: Door, work: Work, failure: Failure, *, policies: Policies = DEFAULTS, actor: Actor | None = None
) -> State:
    """The attempt failed: the cause decides between another attempt, a look at the destination, and a person."""
    with _session(door) as session:
        return attempts.fail(session, work, failure, policies=policies, actor=actor or worker_actor())


def schedule_retry(
    door: Door,
    work: Work,
    failure: Failure,
    *,
    after: timedelta | None = None,
    policies: Policies = DEFAULTS,
    actor: Actor | None = None,
) -> State:
    """Plan another attempt; InvalidInputError for a cause that does not prove that nothing was sent."""
    with _session(door) as session:
        asking = actor or worker_actor()
        return attempts.schedule_retry(session, work, failure, policies=policies, actor=asking, after=after)


def send_to_review(
    door: Door, work: Work, failure: Failure, *, policies: Policies = DEFAULTS, actor: Actor | None = None
) -> State:
    """Ask a person: another attempt would fail the same way."""
    with _session(door) as session:
        return attempts.send_to_review(session, work, failure, policies=policies, actor=actor or worker_actor())


@contextmanager
def _session(door: Door) -> Iterator[Session]:
    """The host's session, or one that lives within the host's connection and leaves its commit to the host."""
    if isinstance(door, Session):
        yield door
        return
    if not door.in_transaction():
        door.begin()
    with Session(door, join_transaction_mode="rollback_only") as session:
        yield session
