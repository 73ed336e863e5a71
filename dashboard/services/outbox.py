"""The outbox: what is to be published is written with the change it announces, and dead letters are decided about.

`enqueue` runs in the caller's transaction. `decide` is the only way in which a person changes a message.
"""

import json
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Table, select, update
from sqlalchemy.orm import Session

from dashboard.db import Database, clock
from dashboard.domain.actions import FORM_KEY, check_words
from dashboard.domain.errors import InvalidInputError, LostRaceError, NotAllowedError, NotFoundError, Problem
from dashboard.domain.messages import Decision, MessageState
from dashboard.domain.permissions import Actor, Permission, allows, scopes
from dashboard.domain.text import TextError, check_text
from dashboard.models import OutboxDecision, OutboxMessage
from dashboard.queries.scoping import in_scope
from dashboard.services import audit
from dashboard.services.refusals import Attempt, Subject, attempt

LIMITS: Mapping[str, int] = {"tenant": 64, "type": 64, "sink": 64, "topic": 128, "aggregate_key": 255}
MAX_PAYLOAD = 1_000_000
ACTIONS: Mapping[Decision, str] = {Decision.REDRIVE: "outbox_redrive", Decision.DISCARD: "outbox_discard"}
MESSAGES: Table = OutboxMessage.metadata.tables["outbox_messages"]


@dataclass(frozen=True)
class DecisionForm:
    """What a person sent: `idempotency_key` names the form."""

    idempotency_key: str
    note: str | None
    reference: str | None = None


def enqueue(
    session: Session,
    *,
    tenant: str,
    type: str,  # noqa: A002 - the column's name
    sink: str,
    topic: str,
    aggregate_key: str,
    payload: Mapping[str, Any] | Sequence[Any],
    now: datetime,
    operation_id: int | None = None,
) -> str:
    """Write a message to publish and return its id; the caller's transaction decides whether it exists.

    `operation_id` is the row's number. Messages of one `aggregate_key` go out in the order in which they were written:
    lock what the key stands for before writing. Raises InvalidInputError with one Problem for each bad field.
    """
    named = {"tenant": tenant, "type": type, "sink": sink, "topic": topic, "aggregate_key": aggregate_key}
    problems = [problem for name, value in named.items() if (problem := _text_problem(name, value))]
    text, problem = _as_json(payload)
    if problem:
        problems.append(problem)
    if problems:
        raise InvalidInputError(problems)
    row = OutboxMessage(
        **named,
        message_id=f"msg_{uuid.uuid4().hex}",
        payload=text,
        operation_id=operation_id,
        state=MessageState.PENDING.value,
        next_attempt_at=now,
        created_at=now,
    )
    session.add(row)
    session.flush()
    return row.message_id


def decide(database: Database, *, actor: Actor, message_id: str, decision: Decision, form: DecisionForm) -> bool:
    """Redrive or discard a dead letter and return True; False where the same form had done it before.

    Raises NotFoundError, NotAllowedError, InvalidInputError, and LostRaceError where the message is no longer dead,
    once the refusal is audited.
    """
    tried = Attempt(actor, ACTIONS[decision], message_id, form.note)
    return attempt(database, tried, lambda session: _decide_once(session, tried, decision, form), look=_subject)


def find(session: Session, *, actor: Actor, message_id: str) -> OutboxMessage:
    """The message if it lies within the person's grants; NotFoundError otherwise, whichever the reason."""
    visible = in_scope(scopes(actor.grants, Permission.BROWSE), tenant=OutboxMessage.tenant, type=OutboxMessage.type)
    message = None
    if _is_message_id(message_id):
        message = session.scalar(select(OutboxMessage).where(OutboxMessage.message_id == message_id, visible))
    if message is None:
        raise NotFoundError(message_id=message_id)
    return message


def _decide_once(session: Session, tried: Attempt, decision: Decision, form: DecisionForm) -> bool:
    message = find(session, actor=tried.actor, message_id=tried.operation_id)
    if not allows(tried.actor.grants, Permission.EXECUTE, tenant=message.tenant, type=message.type):
        raise NotAllowedError(permission=Permission.EXECUTE.value, action=tried.action)
    if not FORM_KEY.fullmatch(form.idempotency_key):
        raise InvalidInputError((Problem("idempotency_key", "key_invalid"),))
    # The row is locked first, so that the same form sent twice at once meets here.
    session.refresh(message, with_for_update=True)
    if _decided_before(session, message, tried.actor, decision, form):
        return False
    note, reference = check_words(note=form.note, reference=form.reference)
    _apply(session, message, decision)
    session.add(
        OutboxDecision(
            outbox_message_id=message.id,
            decision=decision.value,
            idempotency_key=form.idempotency_key,
            note=note,
            reference=reference,
            claims=message.claims,
            last_error=message.last_error,
            requested_by=tried.actor.id,
            requested_at=clock(session),
        )
    )
    _audit(session, message, tried, decision, note=note, reference=reference)
    return True


def _apply(session: Session, message: OutboxMessage, decision: Decision) -> None:
    values: dict[str, object] = {"state": MessageState.DISCARDED.value}
    if decision is Decision.REDRIVE:
        values = {"state": MessageState.PENDING.value, "claims": 0, "next_attempt_at": clock(session)}
    changed = session.connection().execute(
        update(MESSAGES)
        .where(MESSAGES.c.id == message.id, MESSAGES.c.state == MessageState.DEAD.value)
        .values(lease_token=None, lease_until=None, **values)
    )
    if changed.rowcount != 1:
        raise LostRaceError("letter_not_dead", message_id=message.message_id, state=message.state)


def _audit(
    session: Session, message: OutboxMessage, tried: Attempt, decision: Decision, *, note: str, reference: str | None
) -> None:
    after = MessageState.PENDING if decision is Decision.REDRIVE else MessageState.DISCARDED
    audit.append(
        session,
        actor=tried.actor,
        action=tried.action,
        subject=message.message_id,
        now=clock(session),
        tenant=message.tenant,
        type=message.type,
        before={"state": MessageState.DEAD.value, "claims": message.claims, "last_error": message.last_error},
        after={"state": after.value},
        reason=note,
        evidence={
            "reference": reference,
            "sink": message.sink,
            "topic": message.topic,
            "aggregate_key": message.aggregate_key,
        },
    )


def _decided_before(
    session: Session, message: OutboxMessage, actor: Actor, decision: Decision, form: DecisionForm
) -> bool:
    stored = session.scalar(
        select(OutboxDecision).where(
            OutboxDecision.requested_by == actor.id, OutboxDecision.idempotency_key == form.idempotency_key
        )
    )
    if stored is None:
        return False
    if (stored.outbox_message_id, stored.decision) != (message.id, decision.value):
        raise InvalidInputError((Problem("idempotency_key", "key_reused"),))
    return True


def _subject(session: Session, message_id: str) -> Subject | None:
    if not _is_message_id(message_id):
        return None
    row = session.execute(
        select(OutboxMessage.tenant, OutboxMessage.type, OutboxMessage.state).where(
            OutboxMessage.message_id == message_id
        )
    ).one_or_none()
    return Subject(row.tenant, row.type, {"state": row.state}) if row else None


def _is_message_id(text: str) -> bool:
    return 0 < len(text) <= 64 and text.isascii() and text.isprintable()  # noqa: PLR2004 - the column's length


def _text_problem(name: str, value: str) -> Problem | None:
    if not value:
        return Problem(name, "text_missing")
    if len(value) > LIMITS[name]:
        return Problem(name, "name_too_long", {"maximum": LIMITS[name], "length": len(value)})
    try:
        check_text(value)
    except TextError as error:
        return Problem(name, "text_invalid", {"reason": error.code})
    return None


def _as_json(payload: object) -> tuple[str, Problem | None]:
    try:
        text = check_text(json.dumps(payload, ensure_ascii=False, separators=(",", ":"), allow_nan=False))
    except (TypeError, ValueError, RecursionError) as error:
        return "", Problem("payload", "payload_invalid", {"reason": str(error)[:200]})
    if len(text) > MAX_PAYLOAD:
        return "", Problem("payload", "payload_too_long", {"maximum": MAX_PAYLOAD, "length": len(text)})
    return text, None
