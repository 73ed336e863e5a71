"""Writing an operation down, in the host's own transaction, before anything is sent."""

import json
from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal
from typing import Any

from sqlalchemy import Table, select
from sqlalchemy.orm import Session

from dashboard.db import clock
from dashboard.domain.errors import ConflictError, InvalidInputError, NotFoundError, Problem
from dashboard.domain.fingerprint import fingerprint, parse_payload
from dashboard.domain.permissions import Actor
from dashboard.domain.policy import Policies
from dashboard.domain.states import ClosedReason, EventKind, State, Trigger
from dashboard.domain.text import TextError, check_text
from dashboard.domain.work import Message, NewOperation, Registered
from dashboard.models import Operation
from dashboard.services import outbox, transitions
from dashboard.services.import_lines import read_line
from dashboard.services.insert_once import insert_once, is_new

OPERATIONS: Table = Operation.metadata.tables["operations"]

# These make two registrations under one id the same one.
IDENTITY = (
    "tenant",
    "type",
    "entity_type",
    "entity_id",
    "expected_version",
    "fingerprint",
    "destination",
    "amount",
    "currency",
)


class OperationIdTakenError(ConflictError):
    """The id stands for another operation already; the differing fields are in `details`."""

    default_code = "operation_id_taken"


def register(
    session: Session, new: NewOperation, *, policies: Policies, actor: Actor, message: Message | None = None
) -> Registered:
    """Write the operation, pending, and the message that announces it; the same registration again changes nothing.

    Raises InvalidInputError with one Problem for each bad field, and OperationIdTakenError where the id stands
    for something else. The caller's transaction decides whether any of it exists.
    """
    now = clock(session)
    row = _columns(new, policies=policies, now=now)
    inserted = _insert(session, row)
    # A locking read sees what is committed now, even where the host reads from an older snapshot.
    named = select(Operation).where(Operation.operation_id == new.operation_id).with_for_update()
    operation = session.scalars(named).one()
    if not inserted:
        return _registered_before(operation, row)
    transitions.record(session, operation, kind=EventKind.TRANSITION, actor=actor, now=now, to_state=State.PENDING)
    if message:
        outbox.enqueue(
            session,
            tenant=operation.tenant,
            type=operation.type,
            sink=message.sink,
            topic=message.topic,
            aggregate_key=message.aggregate_key,
            payload=message.payload,
            operation_id=operation.id,
            now=now,
        )
    return Registered(operation.operation_id, new=True)


def withdraw(session: Session, *, operation_id: str, reason: str, actor: Actor) -> None:
    """Take back an operation that nobody has begun.

    Raises NotFoundError, TransitionError once it was begun, and LostRaceError where a worker begins it just now.
    """
    operation = session.scalar(
        select(Operation).where(Operation.operation_id == operation_id).execution_options(populate_existing=True)
    )
    if operation is None:
        raise NotFoundError(operation_id=operation_id)
    transitions.apply(
        session,
        operation,
        trigger=Trigger.WITHDRAW,
        actor=actor,
        now=clock(session),
        reason=_checked(reason),
        changes={"closed_reason": ClosedReason.CANCELLED.value},
    )


def _insert(session: Session, row: Mapping[str, Any]) -> bool:
    connection = session.connection()
    dialect = connection.dialect.name
    inserting = insert_once(OPERATIONS, row, dialect=dialect, unique=("operation_id",))
    return is_new(connection.execute(inserting), dialect=dialect)


def _registered_before(stored: Operation, row: Mapping[str, Any]) -> Registered:
    differing = tuple(name for name in IDENTITY if getattr(stored, name) != row[name])
    if differing:
        raise OperationIdTakenError(operation_id=stored.operation_id, fields=differing)
    return Registered(stored.operation_id, new=False)


def _columns(new: NewOperation, *, policies: Policies, now: datetime) -> dict[str, Any]:
    """Check the fields by the rules that imported lines keep, and fill what the host leaves open."""
    row = dict(read_line(_as_line(new, now), number=1).fields)
    del row["parent"]
    payload = parse_payload(json.dumps(row["expected"]))
    return {
        **row,
        "fingerprint": fingerprint(payload),
        "next_attempt_at": row["next_attempt_at"] or now,
        "deadline_at": row["deadline_at"] or now + policies.deadline_of(new.type),
        "created_at": now,
        "state_since": now,
        "updated_at": now,
    }


def _as_line(new: NewOperation, now: datetime) -> bytes:
    fields = {
        "kind": "operation",
        "state": State.PENDING.value,
        "created_at": now,
        "next_attempt_at": new.due_at,
        **{name: value for name, value in vars(new).items() if name != "due_at"},
    }
    try:
        return json.dumps(fields, default=_as_text).encode("utf-8", "surrogatepass")
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInputError((Problem("expected", "not_json", {"reason": str(error), "column": 0}),)) from error


def _as_text(value: object) -> object:
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, Decimal):
        return format(value, "f")
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} cannot be kept as JSON")


def _checked(reason: str) -> str:
    try:
        return check_text(reason)
    except TextError as error:
        raise InvalidInputError((Problem("reason", error.code),)) from error
