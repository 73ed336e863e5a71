"""Notes that people leave on an operation for each other."""

import re
from datetime import datetime

from sqlalchemy import select
from sqlalchemy.orm import Session

from dashboard.domain.actions import MAX_NOTE
from dashboard.domain.errors import InvalidInputError, NotAllowedError, Problem
from dashboard.domain.permissions import Actor, Permission, allows
from dashboard.domain.states import EventKind
from dashboard.domain.text import TextError, check_text, without_invisible
from dashboard.models import Operation, OperationEvent
from dashboard.services import actions, audit, transitions

RECENT = 50


def add_note(
    session: Session, *, actor: Actor, operation_id: str, idempotency_key: str, text: str | None, now: datetime
) -> None:
    """Add a note of 1 to 2,000 characters; the same form sent twice adds it once.

    Raises NotFoundError, NotAllowedError and InvalidInputError.
    """
    operation = actions.find(session, actor=actor, operation_id=operation_id)
    if not allows(actor.grants, Permission.NOTE, tenant=operation.tenant, type=operation.type):
        raise NotAllowedError(permission=Permission.NOTE.value, action="note")
    if not actions.FORM_KEY.fullmatch(idempotency_key):
        raise InvalidInputError((Problem("idempotency_key", "key_invalid"),))
    note = _checked(text)
    session.execute(select(Operation.id).where(Operation.id == operation.id).with_for_update())
    if _already_there(session, operation, actor=actor, key=idempotency_key):
        return
    transitions.record(
        session,
        operation,
        kind=EventKind.NOTE,
        actor=actor,
        now=now,
        reason=note,
        evidence={"form": idempotency_key},
    )
    audit.append(
        session,
        actor=actor,
        action="note",
        subject=operation.operation_id,
        now=now,
        tenant=operation.tenant,
        type=operation.type,
        reason=note,
    )


def _already_there(session: Session, operation: Operation, *, actor: Actor, key: str) -> bool:
    recent = session.scalars(
        select(OperationEvent.evidence)
        .where(
            OperationEvent.operation_id == operation.id,
            OperationEvent.kind == EventKind.NOTE.value,
            OperationEvent.actor_id == actor.id,
        )
        .order_by(OperationEvent.seq.desc())
        .limit(RECENT)
    )
    return any((evidence or {}).get("form") == key for evidence in recent)


def _checked(text: str | None) -> str:
    note = (text or "").strip()
    try:
        check_text(note)
    except TextError as error:
        raise InvalidInputError((Problem("note", "text_invalid", {"reason": error.code}),)) from error
    if not re.search(r"\S", without_invisible(note)):
        raise InvalidInputError((Problem("note", "note_missing", {"minimum": 1}),))
    if len(note) > MAX_NOTE:
        raise InvalidInputError((Problem("note", "note_too_long", {"maximum": MAX_NOTE, "length": len(note)}),))
    return note
