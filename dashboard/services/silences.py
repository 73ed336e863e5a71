"""Silences: nobody is told of the alerts of a subject for a while, because somebody said why, on the record.

What is silenced is looked at all the same; what still fires when the silence ends is told then.
"""

from dataclasses import dataclass
from datetime import timedelta

from sqlalchemy import select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from dashboard.db import Database, clock
from dashboard.domain.actions import FORM_KEY, check_words
from dashboard.domain.alerting import (
    EVERY_RULE,
    INSTALLATION,
    INSTALLATION_RULES,
    TYPE_RULES,
    may_silence,
    sight,
)
from dashboard.domain.errors import InvalidInputError, NotAllowedError, NotFoundError, Problem
from dashboard.domain.permissions import Actor, Permission
from dashboard.domain.policy import Policies
from dashboard.domain.redaction import redact_text
from dashboard.models import Alert, AlertSilence
from dashboard.services import audit
from dashboard.services.refusals import Attempt, Look, Subject, attempt

SILENCE = "alert_silence"
UNSILENCE = "alert_unsilence"
SHORTEST = timedelta(minutes=5)
LONGEST = timedelta(days=30)


@dataclass(frozen=True)
class Wish:
    """What somebody wants to hear nothing of: a rule of a subject or with '' all of it, for how long and why.

    `lasts` is None where the form gave none that can be read. `idempotency_key` names the form.
    """

    subject: str
    rule: str
    lasts: timedelta | None
    reason: str | None
    idempotency_key: str


def silence(database: Database, *, actor: Actor, wish: Wish, policies: Policies) -> AlertSilence:
    """Store the silence and give it; the same form sent again gives the first answer.

    Raises NotFoundError for a subject out of sight or unknown, NotAllowedError, and InvalidInputError with the fields
    `rule`, `lasts`, `note` and `idempotency_key`, once the refusal is audited.
    """
    tried = Attempt(actor, SILENCE, named(wish.subject, wish.rule), note=wish.reason)
    return attempt(
        database, tried, lambda session: _silence(session, actor, wish, policies), look=_look(wish.subject, wish.rule)
    )


def unsilence(database: Database, *, actor: Actor, number: int) -> AlertSilence:
    """End a silence before its time and give it; ended twice, or by itself meanwhile, is ended once.

    Raises NotFoundError and NotAllowedError once the refusal is audited.
    """
    tried = Attempt(actor, UNSILENCE, f"silence {number}")
    return attempt(
        database,
        tried,
        lambda session: _unsilence(session, actor, number),
        look=lambda session, _: _known(session, number),
    )


def named(subject: str, rule: str) -> str:
    """How the audit log calls what is silenced."""
    whose = "installation" if subject == INSTALLATION else f"type {subject}"
    return f"alerts of {whose}" if rule == EVERY_RULE else f"alert {rule} of {whose}"


def _silence(session: Session, actor: Actor, wish: Wish, policies: Policies) -> AlertSilence:
    check_subject(session, actor, wish.subject, policies)
    reason, lasts = _checked(wish)
    found = _earlier(session, actor, wish.idempotency_key)
    if found is None:
        try:
            with session.begin_nested():
                found = _store(session, actor, wish, reason=reason, lasts=lasts)
        except IntegrityError:
            # The same form, sent twice at once.
            found = _earlier(session, actor, wish.idempotency_key)
    if found is None or (found.subject, found.rule) != (wish.subject, wish.rule):
        raise InvalidInputError((Problem("idempotency_key", "key_reused"),))
    return found


def _unsilence(session: Session, actor: Actor, number: int) -> AlertSilence:
    found = session.get(AlertSilence, number, with_for_update=True)
    if found is None or not sight(actor.grants).includes(found.subject):
        raise NotFoundError(silence=number)
    _check_permission(actor, found.subject)
    now = clock(session)
    if found.ended_at is not None or found.ends_at <= now:
        return found
    session.execute(update(AlertSilence).where(AlertSilence.id == number).values(ended_at=now, ended_by=actor.id))
    session.refresh(found)
    _record(session, actor, UNSILENCE, found, before={"ends_at": found.ends_at.isoformat()})
    return found


def check_subject(session: Session, actor: Actor, subject: str, policies: Policies) -> None:
    """Refuse what the actor may not silence.

    Raises NotFoundError for what is out of sight or unknown, and NotAllowedError.
    """
    if not sight(actor.grants).includes(subject):
        raise NotFoundError(subject=subject)
    is_known = subject == INSTALLATION or subject in policies.types
    if not is_known and session.scalar(select(Alert.id).where(Alert.subject == subject).limit(1)) is None:
        raise NotFoundError(subject=subject)
    _check_permission(actor, subject)


def _check_permission(actor: Actor, subject: str) -> None:
    if not may_silence(actor.grants, subject):
        needed = Permission.SILENCE_INSTALLATION if subject == INSTALLATION else Permission.SILENCE
        raise NotAllowedError(permission=needed.value)


def _checked(wish: Wish) -> tuple[str, timedelta]:
    """The reason and the duration, or one problem for each bad field."""
    rules = INSTALLATION_RULES if wish.subject == INSTALLATION else TYPE_RULES
    problems = [] if wish.rule in {EVERY_RULE, *rules} else [Problem("rule", "rule_unknown", {"allowed": rules})]
    if wish.lasts is None or not SHORTEST <= wish.lasts <= LONGEST:
        bounds = {"minimum": int(SHORTEST.total_seconds() // 60), "maximum": LONGEST.days}
        problems.append(Problem("lasts", "silence_length_invalid", bounds))
    problems += [] if FORM_KEY.fullmatch(wish.idempotency_key) else [Problem("idempotency_key", "key_invalid")]
    try:
        reason, _ = check_words(note=wish.reason, reference=None)
    except InvalidInputError as error:
        raise InvalidInputError((*problems, *error.problems)) from error
    if problems or wish.lasts is None:
        raise InvalidInputError(problems)
    return reason, wish.lasts


def _earlier(session: Session, actor: Actor, key: str) -> AlertSilence | None:
    given = select(AlertSilence).where(AlertSilence.created_by == actor.id, AlertSilence.idempotency_key == key)
    return session.scalar(given)


def _store(session: Session, actor: Actor, wish: Wish, *, reason: str, lasts: timedelta) -> AlertSilence:
    now = clock(session)
    stored = AlertSilence(
        rule=wish.rule,
        subject=wish.subject,
        reason=redact_text(reason),
        created_by=actor.id,
        idempotency_key=wish.idempotency_key,
        created_at=now,
        ends_at=now + lasts,
    )
    session.add(stored)
    session.flush()
    _record(session, actor, SILENCE, stored, reason=reason, after={"ends_at": stored.ends_at.isoformat()})
    return stored


def _record(
    session: Session,
    actor: Actor,
    action: str,
    silenced: AlertSilence,
    *,
    reason: str | None = None,
    before: dict[str, object] | None = None,
    after: dict[str, object] | None = None,
) -> None:
    audit.append(
        session,
        actor=actor,
        action=action,
        subject=named(silenced.subject, silenced.rule),
        now=clock(session),
        type=silenced.subject or None,
        before=before,
        after=after,
        reason=reason,
        evidence={"silence": silenced.id},
    )


def _look(subject: str, rule: str) -> Look:
    return lambda _session, _named: Subject(None, subject or None, {"rule": rule})


def _known(session: Session, number: int) -> Subject | None:
    found = session.get(AlertSilence, number)
    return Subject(None, found.subject or None, {"rule": found.rule}) if found else None
