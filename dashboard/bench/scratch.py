"""Filling a scratch database with what a benchmark works off, and with history that must not slow it down."""

import secrets
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from sqlalchemy import func, insert, select, text
from sqlalchemy.orm import Session

from dashboard import ledger
from dashboard.db import Database, clock, reading, transact
from dashboard.domain.messages import MessageState
from dashboard.domain.states import ActorKind, EventKind, State
from dashboard.models import IdempotencyRecord, Operation, OperationEvent, OutboxMessage
from dashboard.services import outbox

TENANT = "bench"
TYPE = "bench"
SINK = "bench"
KEYS = 1000
AT_ONCE = 250
HISTORY_AT_ONCE = 5000
HISTORY_DAYS = 90
LIFE = (State.PENDING, State.PROCESSING, State.CONFIRMED)

Progress = Callable[[int], None]


def may_fill(database: Database, *, scratch: bool) -> bool:
    """Whether nothing is in there; with `scratch` what earlier benchmarks left may be, and still nothing else."""
    with reading(database) as session:
        return not any(
            session.scalar(select(table.id).where(*([table.tenant != TENANT] if scratch else [])).limit(1))
            for table in (Operation, OutboxMessage, IdempotencyRecord)
        )


def register_due(database: Database, *, operations: int, progress: Progress) -> int:
    """Register due operations as a host does, each of an entity of its own; all are numbered after what it returns."""
    run, after = secrets.token_hex(4), _last_number(database, Operation)

    def unit(numbers: range, session: Session) -> None:
        for number in numbers:
            name = f"bench-{run}-{number:08}"
            new = ledger.NewOperation(name, TENANT, TYPE, "order", name, "bench", expected={"order": number})
            ledger.register(session, new)

    _in_batches(database, operations, unit, size=AT_ONCE, progress=progress)
    return after


def enqueue_due(database: Database, *, messages: int, progress: Progress, keys: int = KEYS) -> int:
    """Write due messages of so many keys as a host does; all are numbered after what it returns."""
    after = _last_number(database, OutboxMessage)

    def unit(numbers: range, session: Session) -> None:
        now = clock(session)
        for number in numbers:
            outbox.enqueue(
                session,
                tenant=TENANT,
                type=TYPE,
                sink=SINK,
                topic="bench.done",
                aggregate_key=f"key-{number % keys:04}",
                payload={"number": number},
                now=now,
            )

    _in_batches(database, messages, unit, size=AT_ONCE, progress=progress)
    return after


def add_finished_operations(database: Database, *, operations: int, progress: Progress) -> None:
    """Insert confirmed operations of the last months, each with its three events."""
    run, first = secrets.token_hex(4), _last_number(database, Operation) + 1

    def unit(numbers: range, session: Session) -> None:
        now, connection = clock(session), session.connection()
        rows = [_finished(first + number, run=run, at=_moment(number, operations, now=now)) for number in numbers]
        connection.execute(insert(Operation), rows)
        connection.execute(insert(OperationEvent), [event for row in rows for event in _events(row)])

    _in_batches(database, operations, unit, size=HISTORY_AT_ONCE, progress=progress)
    _continue_numbers(database)


def add_published_messages(database: Database, *, messages: int, progress: Progress) -> None:
    """Insert messages that were published in the last months, of the same keys as those that are due."""
    run = secrets.token_hex(4)

    def unit(numbers: range, session: Session) -> None:
        now = clock(session)
        rows = [_published(number, run=run, at=_moment(number, messages, now=now)) for number in numbers]
        session.connection().execute(insert(OutboxMessage), rows)

    _in_batches(database, messages, unit, size=HISTORY_AT_ONCE, progress=progress)


def _last_number(database: Database, table: type[Operation | OutboxMessage]) -> int:
    with reading(database) as session:
        return session.scalar(select(func.max(table.id))) or 0


def _in_batches(
    database: Database, total: int, unit: Callable[[range, Session], None], *, size: int, progress: Progress
) -> None:
    for first in range(0, total, size):
        numbers = range(first, min(first + size, total))
        transact(database, partial(unit, numbers))
        progress(numbers.stop)


def _continue_numbers(database: Database) -> None:
    """Let PostgreSQL count on from the numbers that were given, and know what it holds as it would by itself soon."""
    if database.dialect != "postgresql":
        return

    def unit(session: Session) -> None:
        session.execute(text("SELECT setval(pg_get_serial_sequence('operations', 'id'), max(id)) FROM operations"))
        session.execute(text("ANALYZE"))

    transact(database, unit)


def _finished(number: int, *, run: str, at: datetime) -> dict[str, Any]:
    name = f"bench-{run}-{number:08}"
    return {
        "id": number,
        "operation_id": name,
        "tenant": TENANT,
        "type": TYPE,
        "entity_type": "order",
        "entity_id": name,
        "expected": {"order": number},
        "destination": "bench",
        "state": State.CONFIRMED.value,
        "revision": 3,
        "attempts": 1,
        "remote_id": name,
        "deadline_at": at + timedelta(days=1),
        "created_at": at,
        "state_since": at,
        "updated_at": at,
        "confirmed_at": at,
    }


def _events(row: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for seq, state in enumerate(LIFE, start=1):
        yield {
            "operation_id": row["id"],
            "seq": seq,
            "at": row["created_at"],
            "kind": EventKind.TRANSITION.value,
            "from_state": LIFE[seq - 2].value if seq > 1 else None,
            "to_state": state.value,
            "actor_kind": ActorKind.WORKER.value,
            "actor_id": "bench",
        }


def _published(number: int, *, run: str, at: datetime) -> dict[str, Any]:
    return {
        "message_id": f"msg_{run}{number:08}",
        "tenant": TENANT,
        "type": TYPE,
        "sink": SINK,
        "topic": "bench.done",
        "aggregate_key": f"key-{number % KEYS:04}",
        "payload": "{}",
        "state": MessageState.PUBLISHED.value,
        "claims": 1,
        "next_attempt_at": at,
        "created_at": at,
        "published_at": at,
    }


def _moment(number: int, total: int, *, now: datetime) -> datetime:
    """Spread evenly over the last months, oldest first."""
    return now - timedelta(days=HISTORY_DAYS) * ((total - number) / total)
