"""Changing the state of an operation: one conditional UPDATE and one event, in the caller's transaction."""

from collections.abc import Mapping
from datetime import datetime

from sqlalchemy import func, select, update
from sqlalchemy.orm import Session

from dashboard.domain.errors import LostRaceError
from dashboard.domain.permissions import Actor
from dashboard.domain.redaction import redact, redact_text
from dashboard.domain.states import ActorKind, EventKind, State, Trigger, find_transition, targets
from dashboard.models import Action, Operation, OperationEvent

SYSTEM = Actor(ActorKind.SYSTEM, "compensation")


def apply(
    session: Session,
    operation: Operation,
    *,
    trigger: Trigger,
    actor: Actor,
    now: datetime,
    target: State | None = None,
    reason: str | None = None,
    evidence: Mapping[str, object] | None = None,
    policy_hash: str | None = None,
    changes: Mapping[str, object] | None = None,
) -> None:
    """Move the operation to where the trigger leads, if the table allows it and nobody was faster.

    `changes` are further columns that the transition must carry. Raises TransitionError where the table
    has no such way, and LostRaceError where the row is no longer in the state and revision that were read.
    """
    source = State(operation.state)
    target = target or targets(source, trigger=trigger)
    find_transition(source, target, trigger=trigger, actor=actor.kind)
    values: dict[str, object] = {"state": target.value, "state_since": now, **(changes or {})}
    if target is State.CONFIRMED:
        values.setdefault("confirmed_at", now)
    change(session, operation, now=now, **values)
    record(
        session,
        operation,
        kind=EventKind.TRANSITION,
        actor=actor,
        now=now,
        from_state=source,
        to_state=target,
        reason=reason,
        evidence=evidence,
        policy_hash=policy_hash,
    )
    if target is State.CONFIRMED and operation.parent_id is not None:
        _compensate_parent(session, operation, now=now)


def change(session: Session, operation: Operation, *, now: datetime, **values: object) -> None:
    """Write columns of the row that was read and raise its revision; LostRaceError if it has changed since."""
    result = session.connection().execute(
        update(Operation)
        .where(
            Operation.id == operation.id,
            Operation.state == operation.state,
            Operation.revision == operation.revision,
        )
        .values(revision=operation.revision + 1, updated_at=now, **values)
    )
    if result.rowcount != 1:
        raise LostRaceError(operation_id=operation.operation_id)
    session.refresh(operation)


def record(
    session: Session,
    operation: Operation,
    *,
    kind: EventKind,
    actor: Actor,
    now: datetime,
    from_state: State | None = None,
    to_state: State | None = None,
    reason: str | None = None,
    evidence: Mapping[str, object] | None = None,
    policy_hash: str | None = None,
) -> OperationEvent:
    """Append an event to the operation's history, with its secrets taken out.

    The row is locked first, so that two writers never take the same number.
    """
    session.execute(select(Operation.id).where(Operation.id == operation.id).with_for_update())
    last = session.scalar(select(func.max(OperationEvent.seq)).where(OperationEvent.operation_id == operation.id))
    event = OperationEvent(
        operation_id=operation.id,
        seq=(last or 0) + 1,
        at=now,
        kind=kind.value,
        from_state=from_state.value if from_state else None,
        to_state=to_state.value if to_state else None,
        actor_kind=actor.kind.value,
        actor_id=actor.id,
        reason=redact_text(reason) if reason is not None else None,
        evidence=redact(evidence) if evidence is not None else None,
        policy_hash=policy_hash,
    )
    session.add(event)
    session.flush()
    return event


def _compensate_parent(session: Session, child: Operation, *, now: datetime) -> None:
    """A confirmed compensation ends the operation it was asked for, if that still waits for it."""
    asked = session.scalar(select(Action).where(Action.child_id == child.id))
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
