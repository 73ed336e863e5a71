"""Settling the idempotency record of an operation in the transaction that settles the operation."""

from datetime import datetime

from sqlalchemy import Select, select, update
from sqlalchemy.orm import Session

from dashboard.domain.keys import UNSETTLED, KeyState
from dashboard.domain.states import State
from dashboard.models import IdempotencyRecord, Operation


def settle(session: Session, operation: Operation, *, now: datetime) -> None:
    """Bring the operation's key to what is known of its effect; an owner that is still at work is left alone.

    Confirmed: `completed`, with the host's own answer where one was stored, and without one where it was lost.
    Closed without an effect: `failed`. Everything else: `pending`. In no case is the work run again under this key.
    """
    for record in session.scalars(_unsettled(operation)).all():
        if record.state == KeyState.PROCESSING and record.owner_token is not None and record.lease_until > now:
            continue
        _write(session, record, {"updated_at": now, **_outcome(operation, record, now=now)})


def _unsettled(operation: Operation) -> Select[IdempotencyRecord]:
    record = IdempotencyRecord
    bound = select(record.id).where(record.operation_id == operation.operation_id, record.tenant == operation.tenant)
    same_key = select(record.id).where(
        record.tenant == operation.tenant,
        record.operation == operation.type,
        record.key == operation.idempotency_key,
        record.operation_id.is_(None),
    )
    ids = bound.union(same_key).subquery("mine")
    unsettled = sorted(state.value for state in UNSETTLED)
    return select(record).where(record.id.in_(select(ids.c.id)), record.state.in_(unsettled))


def _outcome(operation: Operation, record: IdempotencyRecord, *, now: datetime) -> dict[str, object]:
    settled: dict[str, object] = {"owner_token": None, "completed_at": now}
    match operation.state:
        case State.CONFIRMED:
            seen = record.external_reference or operation.remote_id
            return {"state": KeyState.COMPLETED.value, "external_reference": seen, **settled}
        case State.NOT_APPLICABLE:
            return {"state": KeyState.FAILED.value, **settled}
    return {"state": KeyState.PENDING.value}


def _write(session: Session, record: IdempotencyRecord, values: dict[str, object]) -> None:
    """Write unless the record's owner was faster; then its own outcome stands."""
    session.execute(
        update(IdempotencyRecord)
        .where(
            IdempotencyRecord.id == record.id,
            IdempotencyRecord.state == record.state,
            IdempotencyRecord.lease_until == record.lease_until,
        )
        .values(values)
        .execution_options(synchronize_session=False)
    )
