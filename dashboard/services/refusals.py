"""Attempts that are refused: nothing of them is kept but an audit entry, which must outlive the refusal."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from sqlalchemy import select
from sqlalchemy.orm import Session

from dashboard.db import Database, clock, transact
from dashboard.domain.errors import InvalidInputError, NotFoundError, OperationsError
from dashboard.domain.permissions import Actor
from dashboard.domain.text import is_operation_id
from dashboard.models import Operation
from dashboard.services import audit

T = TypeVar("T")


@dataclass(frozen=True)
class Attempt:
    """What somebody tries to do to which operation (or other subject), with the words they gave."""

    actor: Actor
    action: str
    operation_id: str
    note: str | None = None
    reason_code: str | None = None


@dataclass(frozen=True)
class Subject:
    """Where the subject of an attempt belongs, and how it was."""

    tenant: str | None
    type: str | None
    before: Mapping[str, object]


Look = Callable[[Session, str], Subject | None]


def operation_subject(session: Session, operation_id: str) -> Subject | None:
    """Find the operation of an attempt; None where there is none of this id."""
    if not is_operation_id(operation_id):
        return None
    row = session.execute(
        select(Operation.tenant, Operation.type, Operation.state, Operation.revision).where(
            Operation.operation_id == operation_id
        )
    ).one_or_none()
    return Subject(row.tenant, row.type, {"state": row.state, "revision": row.revision}) if row else None


def attempt(database: Database, tried: Attempt, unit: Callable[[Session], T], *, look: Look = operation_subject) -> T:
    """Run a unit of work; what it refuses is undone, audited, and raised once the entry is stored.

    `look` finds the subject of the attempt where that is no operation.
    """

    def audited(session: Session) -> T | OperationsError:
        try:
            with session.begin_nested():
                return unit(session)
        except OperationsError as refusal:
            record(session, refusal, tried, look=look)
            return refusal

    result = transact(database, audited)
    if isinstance(result, OperationsError):
        raise result
    return result


def record(session: Session, refusal: OperationsError, tried: Attempt, *, look: Look = operation_subject) -> None:
    """Record the attempt; of a subject outside the grants only the asked id is kept."""
    known = None if isinstance(refusal, NotFoundError) else look(session, tried.operation_id)
    audit.append(
        session,
        actor=tried.actor,
        action=tried.action,
        subject=tried.operation_id,
        now=clock(session),
        outcome=audit.REFUSED,
        tenant=known.tenant if known else None,
        type=known.type if known else None,
        before=known.before if known else None,
        reason=tried.note,
        evidence={"code": refusal.code, "details": _details(refusal), "reason_code": tried.reason_code},
    )


def _details(refusal: OperationsError) -> Mapping[str, object]:
    if isinstance(refusal, InvalidInputError):
        return {problem.field: problem.code for problem in refusal.problems}
    return refusal.details
