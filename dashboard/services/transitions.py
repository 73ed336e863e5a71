"""Changing the state of an operation: one conditional UPDATE and one event, in the caller's transaction."""

from collections.abc import Mapping
from datetime import datetime

from sqlalchemy import ColumnElement, Table, bindparam, func, insert, select, update
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
    source = State(operation.state)
    target = target or targets(source, trigger=trigger)
    find_transition(source, target, trigger=trigger, actor=actor.kind)
    values = {**_follows_from(target, cause=cause, now=now), **(changes or {})}
    change(session, operation, now=now, held_under=lease_token, **values)
    _append(
        session,
        operation,
        kind=EventKind.TRANSITION,
        actor=actor,
        now=now,
        from_state=source,
        to_state=target,
        cause=cause,
        reason=reason,
        evidence=evidence,
        policy_hash=policy_hash,
        run_id=run_id,
    )
    if target is State.CONFIRMED:
        _verify(session, Action.operation_id == operation.id, Action.action == ActionName.REQUEUE.value)
    if target is State.CONFIRMED and operation.parent_id is not None:
        _compensate_parent(session, operation, now=now)


def change(
    session: Session, operation: Operation, *, now: datetime, held_under: str | None = None, **values: object
) -> None:
    """Write columns of the row that was read and raise its revision; LostRaceError if it has changed since."""
    values |= {"revision": operation.revision + 1, "updated_at": now}
    row = OPERATIONS.c
    unchanged = [row.id == operation.id, row.state == operation.state, row.revision == operation.revision]
    if held_under is not None:
        unchanged.append(row.lease_token == held_under)
    result = session.connection().execute(update(OPERATIONS).where(*unchanged).values(values))
    if result.rowcount != 1:
        raise LostRaceError(operation_id=operation.operation_id)
    for name, value in values.items():
        set_committed_value(operation, name, value)
    session.expire(operation, ["is_open"])


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


def _append(
    session: Session,
    operation: Operation,
    *,
    kind: EventKind,
    actor: Actor,
    now: datetime,
    reason: str | None,
    evidence: Mapping[str, object] | None,
    **columns: object,
) -> None:
    """Append an event of a row that this transaction has locked."""
    event = {
        "operation_id": operation.id,
        "at": now,
        "kind": kind.value,
        "actor_kind": actor.kind.value,
        "actor_id": actor.id,
        "reason": redact_text(reason) if reason is not None else None,
        "evidence": redact(evidence) if evidence is not None else None,
        **columns,
    }
    session.flush()
    session.connection().execute(_NEXT_EVENT, event)


def _verify(session: Session, *which: ColumnElement[bool]) -> None:
    """What a person asked for has had its effect: the action is no longer to be verified."""
    waiting = Action.outcome == TO_VERIFY
    session.connection().execute(update(Action).where(waiting, *which).values(outcome=VERIFIED))


def _compensate_parent(session: Session, child: Operation, *, now: datetime) -> None:
    """A confirmed compensation ends the operation it was asked for, if that still waits for it."""
    asked = session.scalar(select(Action).where(Action.child_id == child.id))
    _verify(session, Action.child_id == child.id)
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
