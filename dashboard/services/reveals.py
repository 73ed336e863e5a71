"""Revealing a masked field to one person for a few minutes, with a reason, on the record.

The value itself is neither in the request nor in what is stored: a reveal only lifts the mask for who asked.
"""

from datetime import datetime, timedelta

from sqlalchemy import select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from dashboard.db import Database, clock
from dashboard.domain.actions import FORM_KEY, check_words
from dashboard.domain.errors import InvalidInputError, NotAllowedError, Problem
from dashboard.domain.permissions import Actor, Permission, allows
from dashboard.domain.redaction import redact_text
from dashboard.models import Operation, Reveal
from dashboard.queries.audit import REVEAL
from dashboard.services import actions, audit
from dashboard.services.policies import Policies
from dashboard.services.refusals import Attempt, attempt

LASTS = timedelta(minutes=5)


def reveal(
    database: Database,
    *,
    actor: Actor,
    operation_id: str,
    field: str | None,
    note: str | None,
    idempotency_key: str,
    policies: Policies,
) -> datetime:
    """Lift the mask of a field for this person and give until when; the same form sent again gives the first answer.

    Raises NotFoundError, NotAllowedError and InvalidInputError, once the refusal is audited.
    """
    tried = Attempt(actor, REVEAL, operation_id, note=note)
    return attempt(
        database,
        tried,
        lambda session: _reveal_once(
            session, tried, field=field or "", idempotency_key=idempotency_key, policies=policies
        ),
    )


def masks(operation: Operation, *, policies: Policies) -> tuple[str, ...]:
    """The masks that policy puts on an operation."""
    return policies.of(operation.type).mask


def may_reveal(operation: Operation, *, actor: Actor) -> bool:
    """Tell whether the person may lift masks of this operation."""
    return allows(actor.grants, Permission.REVEAL, tenant=operation.tenant, type=operation.type)


def _reveal_once(session: Session, tried: Attempt, *, field: str, idempotency_key: str, policies: Policies) -> datetime:
    operation = actions.find(session, actor=tried.actor, operation_id=tried.operation_id)
    if not may_reveal(operation, actor=tried.actor):
        raise NotAllowedError(permission=Permission.REVEAL.value)
    reason = _checked(tried.note, field=field, key=idempotency_key, known=masks(operation, policies=policies))
    found = _earlier(session, tried.actor, idempotency_key)
    if found is None:
        try:
            with session.begin_nested():
                found = _store(session, operation, tried.actor, field=field, reason=reason, key=idempotency_key)
        except IntegrityError:
            # The same form, sent twice at once.
            found = _earlier(session, tried.actor, idempotency_key)
    if found is None or (found.operation_id, found.field) != (operation.id, field):
        raise InvalidInputError((Problem("idempotency_key", "key_reused"),))
    return found.ends_at


def _checked(note: str | None, *, field: str, key: str, known: tuple[str, ...]) -> str:
    problems = [] if field in known else [Problem("field", "field_not_masked")]
    problems += [] if FORM_KEY.fullmatch(key) else [Problem("idempotency_key", "key_invalid")]
    try:
        reason, _ = check_words(note=note, reference=None)
    except InvalidInputError as error:
        raise InvalidInputError((*problems, *error.problems)) from error
    if problems:
        raise InvalidInputError(problems)
    return reason


def _earlier(session: Session, actor: Actor, key: str) -> Reveal | None:
    return session.scalar(select(Reveal).where(Reveal.revealed_to == actor.id, Reveal.idempotency_key == key))


def _store(session: Session, operation: Operation, actor: Actor, *, field: str, reason: str, key: str) -> Reveal:
    now = clock(session)
    stored = Reveal(
        operation_id=operation.id,
        field=field,
        revealed_to=actor.id,
        idempotency_key=key,
        reason=redact_text(reason),
        revealed_at=now,
        ends_at=now + LASTS,
    )
    session.add(stored)
    session.flush()
    audit.append(
        session,
        actor=actor,
        action=REVEAL,
        subject=operation.operation_id,
        now=now,
        tenant=operation.tenant,
        type=operation.type,
        reason=reason,
        evidence={"field": field, "until": stored.ends_at.isoformat()},
    )
    return stored
