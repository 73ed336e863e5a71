"""The verdicts of the last days as cases to decide again: what the reconciler found, and what history was imported."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from itertools import groupby
from typing import Any

from sqlalchemy import Select, and_, or_, select
from sqlalchemy.orm import Session

from dashboard.db import Database, reading
from dashboard.domain.purging import is_whole
from dashboard.domain.replaying import Case
from dashboard.domain.responses import Reason
from dashboard.domain.states import EventKind, State
from dashboard.domain.verdicts import Verdict
from dashboard.models import Operation, OperationEvent, ReconciliationFinding

BATCH = 500
_Event, _Finding = OperationEvent, ReconciliationFinding


def past_verdicts(database: Database, since: datetime, *, batch: int = BATCH) -> Iterator[Case]:
    """Give every case since then, in batches and by keyset, so that no transaction stays open while they are read."""
    yield from _found(database, since, batch)
    yield from _imported(database, since, batch)


def _found(database: Database, since: datetime, batch: int) -> Iterator[Case]:
    after: tuple[datetime, int] = (since, 0)
    while True:
        with reading(database) as session:
            rows = session.execute(_findings(after).limit(batch)).all()
        yield from (_case(row, row.found_state, row.found_attempts) for row in rows if is_whole(row.evidence))
        if len(rows) < batch:
            return
        after = (rows[-1].at, rows[-1].number)


def _findings(after: tuple[datetime, int]) -> Select[*tuple[Any, ...]]:
    at, number = after
    return (
        select(
            _Finding.id.label("number"),
            _Finding.at,
            _Finding.state.label("found_state"),
            _Finding.attempts.label("found_attempts"),
            _Finding.verdict,
            _Finding.evidence,
            *_OF_OPERATION,
        )
        .join(Operation, Operation.id == _Finding.operation_id)
        .where(_Finding.at >= at, or_(_Finding.at > at, _Finding.id > number))
        .where(_Finding.reason != Reason.CHANGED_MEANWHILE.value)
        .order_by(_Finding.at, _Finding.id)
    )


_OF_OPERATION = (
    Operation.operation_id,
    Operation.type,
    Operation.destination,
    Operation.created_at,
    Operation.deadline_at,
)


def _imported(database: Database, since: datetime, batch: int) -> Iterator[Case]:
    """Probes that no run of ours made: of operations created since then, whose history tells how they stood."""
    after: tuple[datetime, int] = (since, 0)
    while True:
        with reading(database) as session:
            rows = session.execute(_created(after).limit(batch)).all()
            cases = _of_history(session, {row.number: row for row in rows})
        yield from (case for case in cases if case.at >= since)
        if len(rows) < batch:
            return
        after = (rows[-1].created_at, rows[-1].number)


def _created(after: tuple[datetime, int]) -> Select[*tuple[Any, ...]]:
    at, number = after
    operation = Operation
    return (
        select(operation.id.label("number"), *_OF_OPERATION)
        .where(and_(operation.created_at >= at, or_(operation.created_at > at, operation.id > number)))
        .order_by(operation.created_at, operation.id)
    )


def _of_history(session: Session, operations: Mapping[int, Any]) -> list[Case]:
    event = _Event
    probed = select(event.operation_id).where(
        event.operation_id.in_(list(operations)), event.kind == EventKind.PROBE.value, event.run_id.is_(None)
    )
    events = session.execute(
        select(event.operation_id, event.at, event.kind, event.to_state, event.run_id, event.evidence)
        .where(event.operation_id.in_(session.scalars(probed.distinct()).all()))
        .order_by(event.operation_id, event.seq)
    ).all()
    found: list[Case] = []
    for number, history in groupby(events, key=lambda row: row.operation_id):
        found += _walk(operations[number], list(history))
    return found


def _walk(operation: Any, history: Sequence[Any]) -> Iterator[Case]:
    """Follow an operation's states; each probe on the way is a case."""
    state, attempts = State.PENDING.value, 0
    for event in history:
        if event.kind == EventKind.TRANSITION and event.to_state:
            state = event.to_state
            attempts += state == State.PROCESSING
        elif event.kind == EventKind.PROBE and event.run_id is None and _verdict(event.evidence):
            yield _case(operation, state, attempts, at=event.at, evidence=event.evidence)


def _verdict(evidence: Mapping[str, Any] | None) -> str | None:
    named = (evidence or {}).get("verdict") if is_whole(evidence) else None
    return named if named in list(Verdict) else None


def _case(
    row: Any, state: str, attempts: int, *, at: datetime | None = None, evidence: Mapping[str, Any] | None = None
) -> Case:
    told = evidence or row.evidence
    return Case(
        operation_id=row.operation_id,
        type=row.type,
        destination=row.destination,
        at=at or row.at,
        state=State(state),
        attempts=attempts,
        created_at=row.created_at,
        deadline_at=row.deadline_at,
        verdict=Verdict(told["verdict"] if evidence else row.verdict),
        evidence=told,
    )
