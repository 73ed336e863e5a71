"""What ended operations hold and lose: bodies go, and what machines saw is reduced to its verdict and the hash of it.

What people saw when they decided - their own events, the snapshots of their actions, the audit log - is not touched.
"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from sqlalchemy import Table, and_, bindparam, delete, func, or_, select, update
from sqlalchemy.orm import Session

from dashboard.domain.purging import PURGED, is_whole, reduced
from dashboard.domain.states import ActorKind, EventKind
from dashboard.models import EvidenceItem, OperationEvent, OperationPayload, ReconciliationFinding


class Contents(NamedTuple):
    """How many bodies, pieces of evidence, and received lines or receipts."""

    payloads: int
    evidence: int
    received: int


def count(session: Session, operations: Sequence[int]) -> Contents:
    """Count what these operations (their numbers) would lose."""
    payloads = select(func.count()).where(OperationPayload.operation_id.in_(operations))
    both = (OperationEvent, ReconciliationFinding)
    evidence = sum(len(list(_reducible(session, model, operations))) for model in both)
    received = len(list(_received(session, operations)))
    return Contents(session.scalar(payloads) or 0, evidence, received)


def clear(session: Session, operations: Sequence[int]) -> Contents:
    """Take it away from these operations (their numbers), and count it."""
    gone = session.connection().execute(delete(OperationPayload).where(OperationPayload.operation_id.in_(operations)))
    evidence = 0
    for model in (OperationEvent, ReconciliationFinding):
        evidence += _write(session, model.__table__, "evidence", _reducible(session, model, operations))
    received = _write(session, EvidenceItem.__table__, "content", _received(session, operations))
    return Contents(gone.rowcount, evidence, received)


def _reducible(session: Session, model: Any, operations: Sequence[int]) -> Iterator[tuple[int, dict[str, Any]]]:
    chosen = select(model.id, model.evidence).where(model.operation_id.in_(operations), model.evidence.is_not(None))
    if model is OperationEvent:
        no_person = or_(model.actor_kind.is_(None), model.actor_kind != ActorKind.USER.value)
        moved = and_(model.kind == EventKind.TRANSITION.value, no_person)
        chosen = chosen.where(or_(model.kind.in_((EventKind.PROBE.value, EventKind.ATTEMPT.value)), moved))
    for number, evidence in session.execute(chosen).all():
        if is_whole(evidence):
            yield number, reduced(evidence)


def _received(session: Session, operations: Sequence[int]) -> Iterator[tuple[int, dict[str, Any]]]:
    item = EvidenceItem
    for number, content in session.execute(select(item.id, item.content).where(item.operation_id.in_(operations))):
        if is_whole(content):
            yield number, {PURGED: True}


def _write(session: Session, table: Any, column: str, rows: Iterator[tuple[int, dict[str, Any]]]) -> int:
    written = [{"row": number, "left": left} for number, left in rows]
    if written:
        named: Table = table
        statement = update(named).where(named.c.id == bindparam("row")).values({column: bindparam("left")})
        session.connection().execute(statement, written)
    return len(written)
