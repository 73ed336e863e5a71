"""Changing the state of an operation: one conditional UPDATE and one event, in the caller's transaction."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeAlias

from sqlalchemy import ColumnElement, Table, bindparam, func, insert, or_, select, update
from sqlalchemy.orm import Session
from sqlalchemy.orm.attributes import set_committed_value

from dashboard.domain.actions import ActionName
from dashboard.domain.errors import LostRaceError
from dashboard.domain.permissions import Actor
from dashboard.domain.redaction import redact, redact_text
from dashboard.domain.states import TERMINAL, ActorKind, Cause, EventKind, State, Trigger, find_transition, targets
from dashboard.models import Action, Operation, OperationEvent

SYSTEM = Actor(ActorKind.SYSTEM, "compensation")
TO_VERIFY = "to_verify"
VERIFIED = "verified"
# In these states nobody looks at an operation by itself, so the index of what is due stays short.
NEVER_DUE = TERMINAL | {State.PROCESSING, State.MANUAL_REVIEW}

OPERATIONS: Table = Operation.metadata.tables["operations"]
EVENTS: Table = OperationEvent.metadata.tables["operation_events"]
_GIVEN = [column for column in EVENTS.columns if column.name not in {"id", "seq"}]
# One statement, which reads the last number as it is committed now: a host's transaction may have an older snapshot.
_NEXT_EVENT = insert(EVENTS).from_select(
    ["seq", *(column.name for column in _GIVEN)],
    select(
        func.coalesce(func.max(EVENTS.c.seq), 0) + 1, *(bindparam(column.name, type_=column.type) for column in _GIVEN)
    ).where(EVENTS.c.operation_id == bindparam("operation_id", type_=EVENTS.c.operation_id.type)),
)

_TOKEN = bindparam("_token", type_=OPERATIONS.c.lease_token.type)
# What a parameter names beside these is a column to write.
_IF_UNCHANGED = update(OPERATIONS).where(
    OPERATIONS.c.id == bindparam("_id"),
    OPERATIONS.c.state == bindparam("_state"),
    OPERATIONS.c.revision == bindparam("_revision"),
    or_(_TOKEN.is_(None), OPERATIONS.c.lease_token == _TOKEN),
)
# A row as it was read, the token under which it must be held if any, and the columns to write.
_Written: TypeAlias = tuple[Operation, str | None, dict[str, object]]


@dataclass(frozen=True)
class Move:
    """One change of state: what causes it and what it carries, `apply` says more."""

    operation: Operation
    trigger: Trigger
    target: State | None = None
    cause: Cause | None = None
    reason: str | None = None
    evidence: Mapping[str, object] | None = None
    lease_token: str | None = None
    changes: Mapping[str, object] | None = None


def apply(
    session: Session,
    operation: Operation,
    *,
    trigger: Trigger,
    actor: Actor,
    now: datetime,
    target: State | None = None,
    cause: Cause | None = None,
    reason: str | None = None,
    evidence: Mapping[str, object] | None = None,
    policy_hash: str | None = None,
    run_id: int | None = None,
    lease_token: str | None = None,
    changes: Mapping[str, object] | None = None,
) -> None:
    """Move the operation to where the trigger leads, if the table allows it and nobody was faster.

    `changes` are further columns that the transition must carry; with `lease_token` the row must still be held
    under it. Raises TransitionError where the table has no such way, and LostRaceError where the row is no longer
    in the state and revision that were read, or the lease is somebody else's.
    """
    move = Move(operation, trigger, target, cause, reason, evidence, lease_token, changes)
    apply_all(session, [move], actor=actor, now=now, policy_hash=policy_hash, run_id=run_id)


def apply_all(
    session: Session,
    moves: Sequence[Move],
    *,
    actor: Actor,
    now: datetime,
    policy_hash: str | None = None,
    run_id: int | None = None,
) -> None:
    """Make several moves of different operations, all or none, in as many statements as one takes; as `apply` does."""
    events, written = [], []
    for move in moves:
        source = State(move.operation.state)
        target = move.target or targets(source, trigger=move.trigger)
        find_transition(source, target, trigger=move.trigger, actor=actor.kind)
        written.append((move, {**_follows_from(target, cause=move.cause, now=now), **(move.changes or {})}))
        events.append(
            _event(
                move.operation,
                kind=EventKind.TRANSITION,
                actor=actor,
                now=now,
                from_state=source,
                to_state=target,
                cause=move.cause,
                reason=move.reason,
                evidence=move.evidence,
                policy_hash=policy_hash,
                run_id=run_id,
            )
        )
    _change_all(session, written, now=now)
    session.flush()
    session.connection().execute(_NEXT_EVENT, events)
    _follow_up(session, [move.operation for move in moves if move.operation.state == State.CONFIRMED], now=now)


def change(
    session: Session, operation: Operation, *, now: datetime, held_under: str | None = None, **values: object
) -> None:
    """Write columns of the row that was read and raise its revision; LostRaceError if it has changed since."""
    _write(session, [(operation, held_under, values)], now=now)


def record(
    session: Session,
    operation: Operation,
    *,
    kind: EventKind,
    actor: Actor,
    now: datetime,
    from_state: State | None = None,
    to_state: State | None = None,
    cause: Cause | None = None,
    reason: str | None = None,
    evidence: Mapping[str, object] | None = None,
    policy_hash: str | None = None,
    run_id: int | None = None,
) -> None:
    """Append an event to the operation's history, with its secrets taken out.

    The row is locked first, so that two writers never take the same number.
    """
    session.execute(select(Operation.id).where(Operation.id == operation.id).with_for_update())
    _append(
        session,
        operation,
        kind=kind,
        actor=actor,
        now=now,
        from_state=from_state,
        to_state=to_state,
        cause=cause,
        reason=reason,
        evidence=evidence,
        policy_hash=policy_hash,
        run_id=run_id,
    )


def _change_all(session: Session, written: Sequence[tuple[Move, dict[str, object]]], *, now: datetime) -> None:
    """Write moves that touch the same columns together."""
    by_columns: dict[frozenset[str], list[_Written]] = defaultdict(list)
    for move, values in written:
        by_columns[frozenset(values)].append((move.operation, move.lease_token, values))
    for alike in by_columns.values():
        _write(session, alike, now=now)


def _write(session: Session, rows: Sequence[_Written], *, now: datetime) -> None:
    """Write the same columns of each row if it is as it was read and held, and raise its revision."""
    parameters = []
    for operation, held_under, values in rows:
        values |= {"revision": operation.revision + 1, "updated_at": now}
        read = {"_id": operation.id, "_state": operation.state, "_revision": operation.revision, "_token": held_under}
        parameters.append(read | values)
    result = session.connection().execute(_IF_UNCHANGED, parameters)
    if result.rowcount != len(rows):
        raise LostRaceError(operation_id=", ".join(operation.operation_id for operation, _, _ in rows))
    for operation, _, values in rows:
        for name, value in values.items():
            set_committed_value(operation, name, value)
        session.expire(operation, ["is_open"])


def _follows_from(target: State, *, cause: Cause | None, now: datetime) -> dict[str, object]:
    """What every arrival in a state writes: nobody holds it any more, and some states are never due."""
    values: dict[str, object] = {"state": target.value, "state_since": now}
    if target is not State.PROCESSING:
        values |= {"lease_token": None, "lease_until": None}
    if target in NEVER_DUE:
        values["next_attempt_at"] = None
    if target is State.CONFIRMED:
        values["confirmed_at"] = now
    if cause is not None:
        values["cause"] = cause.value
    return values


def _append(session: Session, operation: Operation, **columns: Any) -> None:
    """Append an event of a row that this transaction has locked."""
    session.flush()
    session.connection().execute(_NEXT_EVENT, _event(operation, **columns))


def _event(
    operation: Operation,
    *,
    kind: EventKind,
    actor: Actor,
    now: datetime,
    reason: str | None,
    evidence: Mapping[str, object] | None,
    **columns: object,
) -> dict[str, object]:
    return {
        "operation_id": operation.id,
        "at": now,
        "kind": kind.value,
        "actor_kind": actor.kind.value,
        "actor_id": actor.id,
        "reason": redact_text(reason) if reason is not None else None,
        "evidence": redact(evidence) if evidence is not None else None,
        **columns,
    }


def _follow_up(session: Session, confirmed: Sequence[Operation], *, now: datetime) -> None:
    """What a confirmation settles beside its own operation: what was asked of it, and what it compensates."""
    if not confirmed:
        return
    numbers = [operation.id for operation in confirmed]
    _verify(session, Action.operation_id.in_(numbers), Action.action == ActionName.REQUEUE.value, now=now)
    for operation in confirmed:
        if operation.parent_id is not None:
            _compensate_parent(session, operation, now=now)


def _verify(session: Session, *which: ColumnElement[bool], now: datetime) -> None:
    """What a person asked for has had its effect: the action is no longer to be verified."""
    waiting = Action.outcome == TO_VERIFY
    session.connection().execute(update(Action).where(waiting, *which).values(outcome=VERIFIED, verified_at=now))


def _compensate_parent(session: Session, child: Operation, *, now: datetime) -> None:
    """A confirmed compensation ends the operation it was asked for, if that still waits for it."""
    asked = session.scalar(select(Action).where(Action.child_id == child.id))
    _verify(session, Action.child_id == child.id, now=now)
    parent = session.get_one(Operation, child.parent_id, with_for_update=True, populate_existing=True)
    if asked is None or parent.state != State.MANUAL_REVIEW:
        return
    apply(
        session,
        parent,
        trigger=Trigger.COMPENSATE,
        actor=SYSTEM,
        now=now,
        reason=asked.note,
        evidence={"compensation": child.operation_id, "action_id": asked.id},
    )
