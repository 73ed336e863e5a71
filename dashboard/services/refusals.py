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
    """What somebody tries to do to which operation, with the words they gave."""

    actor: Actor
    action: str
    operation_id: str
    note: str | None = None
    reason_code: str | None = None


def attempt(database: Database, tried: Attempt, unit: Callable[[Session], T]) -> T:
    """Run a unit of work; what it refuses is undone, audited, and raised once the entry is stored."""

    def audited(session: Session) -> T | OperationsError:
        try:
            with session.begin_nested():
                return unit(session)
        except OperationsError as refusal:
            _audit(session, refusal, tried)
            return refusal

    result = transact(database, audited)
    if isinstance(result, OperationsError):
        raise result
    return result


def _audit(session: Session, refusal: OperationsError, tried: Attempt) -> None:
    """Record the attempt; of an operation outside the grants only the asked id is kept."""
    known = None
    if is_operation_id(tried.operation_id) and not isinstance(refusal, NotFoundError):
        known = session.execute(
            select(Operation.tenant, Operation.type, Operation.state, Operation.revision).where(
                Operation.operation_id == tried.operation_id
            )
        ).one_or_none()
    audit.append(
        session,
        actor=tried.actor,
        action=tried.action,
        subject=tried.operation_id,
        now=clock(session),
        outcome=audit.REFUSED,
        tenant=known.tenant if known else None,
        type=known.type if known else None,
        before={"state": known.state, "revision": known.revision} if known else None,
        reason=tried.note,
        evidence={"code": refusal.code, "details": _details(refusal), "reason_code": tried.reason_code},
    )


def _details(refusal: OperationsError) -> Mapping[str, object]:
    if isinstance(refusal, InvalidInputError):
        return {problem.field: problem.code for problem in refusal.problems}
    return refusal.details
