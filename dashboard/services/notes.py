"""Notes that people leave on an operation for each other."""

import re

from sqlalchemy import select
from sqlalchemy.orm import Session

from dashboard.db import Database, clock
from dashboard.domain.actions import FORM_KEY, MAX_NOTE
from dashboard.domain.errors import InvalidInputError, NotAllowedError, Problem
from dashboard.domain.permissions import Actor, Permission, allows
from dashboard.domain.states import EventKind
from dashboard.domain.text import TextError, check_text, without_invisible
from dashboard.models import Operation, OperationEvent
from dashboard.services import actions, audit, transitions
from dashboard.services.refusals import Attempt, attempt

RECENT = 50


def add_note(database: Database, *, actor: Actor, operation_id: str, idempotency_key: str, text: str | None) -> bool:
    """Add a note of 1 to 2,000 characters and return True; False where the same form had added it before.

    Raises NotFoundError, NotAllowedError and InvalidInputError, once the refusal is audited.
    """
    tried = Attempt(actor, "note", operation_id, note=text)
    return attempt(
        database, tried, lambda session: _add_once(session, tried=tried, idempotency_key=idempotency_key, text=text)
    )


def _add_once(session: Session, *, tried: Attempt, idempotency_key: str, text: str | None) -> bool:
    actor = tried.actor
    operation = actions.find(session, actor=actor, operation_id=tried.operation_id)
    if not allows(actor.grants, Permission.NOTE, tenant=operation.tenant, type=operation.type):
        raise NotAllowedError(permission=Permission.NOTE.value, action="note")
    if not FORM_KEY.fullmatch(idempotency_key):
        raise InvalidInputError((Problem("idempotency_key", "key_invalid"),))
    note = _checked(text)
    session.execute(select(Operation.id).where(Operation.id == operation.id).with_for_update())
    if _already_there(session, operation, actor=actor, key=idempotency_key):
        return False
    _store(session, operation, actor=actor, note=note, key=idempotency_key)
    return True


def _store(session: Session, operation: Operation, *, actor: Actor, note: str, key: str) -> None:
    now = clock(session)
    transitions.record(
        session, operation, kind=EventKind.NOTE, actor=actor, now=now, reason=note, evidence={"form": key}
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
