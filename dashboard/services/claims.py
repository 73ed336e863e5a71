"""Claims: who is at an operation, so that two people do not decide the same thing side by side.

A claim is no change of the operation: its revision stays, and what people prepared stays valid. It ends by itself.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import update
from sqlalchemy.orm import Session

from dashboard.db import Database, clock
from dashboard.domain.actions import check_words
from dashboard.domain.errors import ConflictError, NotAllowedError
from dashboard.domain.permissions import Actor, Permission, allows
from dashboard.domain.states import OPEN, EventKind
from dashboard.models import Operation
from dashboard.services import audit, transitions
from dashboard.services.action_requests import find
from dashboard.services.refusals import Attempt, attempt

CLAIM = "claim"
TAKEOVER = "takeover"
RELEASE = "release"
LASTS = timedelta(minutes=30)


@dataclass(frozen=True)
class Claimed:
    """Who has the operation now and until when; both None after a release."""

    operation_id: str
    holder: str | None
    until: datetime | None


def refusal(operation: Operation, *, actor: Actor, now: datetime) -> ConflictError | None:
    """Why the person cannot act on it: somebody else has claimed it, and that claim still holds; else None."""
    if not is_held(operation, now=now) or operation.assigned_to == actor.id:
        return None
    return ConflictError("claimed", claimed_by=operation.assigned_to, until=operation.assigned_until)


def is_held(operation: Operation, *, now: datetime) -> bool:
    """Tell whether a claim holds now; who is named without a time is a host's word and holds nothing."""
    return operation.assigned_to is not None and operation.assigned_until is not None and operation.assigned_until > now


def claim(database: Database, *, actor: Actor, operation_id: str, note: str | None = None) -> Claimed:
    """Claim the operation, or claim it longer; with a note, take it over from whoever has it.

    Raises NotFoundError, NotAllowedError, InvalidInputError for a note that says too little, and ConflictError
    `claimed` where somebody else has it and no note is given, or `not_open`.
    """
    tried = Attempt(actor, CLAIM if note is None else TAKEOVER, operation_id, note)
    return attempt(database, tried, lambda session: _claim(session, tried))


def release(database: Database, *, actor: Actor, operation_id: str) -> Claimed:
    """Give the operation back; only who has it can. Released twice is released once."""
    tried = Attempt(actor, RELEASE, operation_id)
    return attempt(database, tried, lambda session: _release(session, tried))


def _claim(session: Session, tried: Attempt) -> Claimed:
    operation = _locked(session, tried)
    now = clock(session)
    held = refusal(operation, actor=tried.actor, now=now)
    if operation.state not in OPEN:
        raise ConflictError("not_open", state=operation.state)
    if held and tried.note is None:
        raise held
    note = check_words(note=tried.note, reference=None)[0] if held else None
    action = TAKEOVER if held else CLAIM
    until = now + LASTS
    _write(session, operation, tried.actor, action, holder=tried.actor.id, until=until, now=now, note=note)
    return Claimed(operation.operation_id, tried.actor.id, until)


def _release(session: Session, tried: Attempt) -> Claimed:
    operation = _locked(session, tried)
    now = clock(session)
    if operation.assigned_to is not None and operation.assigned_to != tried.actor.id:
        raise ConflictError("claimed", claimed_by=operation.assigned_to, until=operation.assigned_until)
    if operation.assigned_to is not None:
        _write(session, operation, tried.actor, RELEASE, holder=None, until=None, now=now, note=None)
    return Claimed(operation.operation_id, None, None)


def _locked(session: Session, tried: Attempt) -> Operation:
    operation = find(session, actor=tried.actor, operation_id=tried.operation_id)
    if not allows(tried.actor.grants, Permission.CLAIM, tenant=operation.tenant, type=operation.type):
        raise NotAllowedError(permission=Permission.CLAIM.value, action=tried.action)
    session.refresh(operation, with_for_update=True)
    return operation


def _write(
    session: Session,
    operation: Operation,
    actor: Actor,
    action: str,
    *,
    holder: str | None,
    until: datetime | None,
    now: datetime,
    note: str | None,
) -> None:
    before = {"assigned_to": operation.assigned_to, "assigned_until": _told(operation.assigned_until)}
    after = {"assigned_to": holder, "assigned_until": _told(until)}
    session.execute(
        update(Operation)
        .where(Operation.id == operation.id)
        .values(assigned_to=holder, assigned_until=until)
        .execution_options(synchronize_session=False)
    )
    transitions.record(
        session,
        operation,
        kind=EventKind.CLAIM,
        actor=actor,
        now=now,
        reason=note,
        evidence={"claim": action, "before": before["assigned_to"], **after},
    )
    audit.append(
        session,
        actor=actor,
        action=action,
        subject=operation.operation_id,
        now=now,
        tenant=operation.tenant,
        type=operation.type,
        before=before,
        after=after,
        reason=note,
    )


def _told(at: datetime | None) -> str | None:
    return at.isoformat() if at else None
