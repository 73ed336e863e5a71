"""Signing in: slowed per account and address, counted in the audit log so that all workers share the count.

1. Read the person and how often this account and this address failed lately.
2. Unless that was too often, compare the password; no transaction is open while that takes its time.
3. Under the lock of the audit log count once more and write the outcome. Of many guesses sent at once only as many
   get an answer as of guesses sent one after the other.
"""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import select
from sqlalchemy.orm import Session

from dashboard.db import Database, clock, reading, transact
from dashboard.domain.permissions import Actor
from dashboard.domain.states import ActorKind
from dashboard.models import AuditHead, User
from dashboard.services import audit
from dashboard.services.passwords import hash_password, is_outdated, matches
from dashboard.services.throttling import ACTION, WRONG, Refused, already_told, throttled_by
from dashboard.services.users import Person, clean_email, find_person, is_email

NO_GRANTS = "no_grants"
# People type passwords into the wrong field: what is no address is never written down.
UNREADABLE = "(not an e-mail address)"


@dataclass(frozen=True)
class SignedIn:
    """The person whose password it was."""

    person: Person


@dataclass(frozen=True)
class _Proven:
    """Whose password it was, the hash it was compared with, and the hash to keep from now on."""

    user_id: int
    kept: str
    renewed: str


def sign_in(
    database: Database, *, email: str, password: str, address: str | None, request_id: str | None
) -> SignedIn | Refused:
    """Check a password and audit the outcome; says nothing about whether the account exists or is disabled."""
    cleaned = clean_email(email)
    subject = cleaned if is_email(cleaned) else UNREADABLE
    actor = Actor(ActorKind.USER, subject, address=address, request_id=request_id)
    with reading(database) as session:
        user = session.scalar(select(User).where(User.email == subject, User.disabled_at.is_(None)))
        kept = user.password_hash if user else None
        throttled = throttled_by(session, subject=subject, address=address, now=clock(session))
    correct = throttled is None and matches(password, kept=kept)
    proven = _Proven(user.id, kept, _renewed(kept, password)) if user and kept and correct else None
    return transact(database, lambda session: _settle(session, actor=actor, proven=proven))


def sign_out(session: Session, *, actor: Actor, now: datetime) -> None:
    """Write down that a person left; the session itself ends at the edge."""
    audit.append(session, actor=actor, action="sign_out", subject=actor.id, now=now)


def _renewed(kept: str, password: str) -> str:
    return hash_password(password) if is_outdated(kept) else kept


def _settle(session: Session, *, actor: Actor, proven: _Proven | None) -> SignedIn | Refused:
    session.execute(select(AuditHead.id).where(AuditHead.id == 1).with_for_update())
    now = clock(session)
    throttled = throttled_by(session, subject=actor.id, address=actor.address, now=now)
    if throttled:
        if not already_told(session, actor=actor, code=throttled.code, now=now):
            _record(session, actor=actor, now=now, reason=throttled.code)
        return throttled
    person = _person_of(session, proven) if proven else None
    if proven is None or person is None or person.disabled_at:
        _record(session, actor=actor, now=now, reason=WRONG)
        return Refused(WRONG)
    if not person.grants:
        _record(session, actor=actor, now=now, reason=NO_GRANTS)
        return Refused(NO_GRANTS)
    if proven.renewed != proven.kept:
        session.get_one(User, person.id).password_hash = proven.renewed
    audit.append(session, actor=actor, action=ACTION, subject=actor.id, now=now)
    return SignedIn(person)


def _person_of(session: Session, proven: _Proven) -> Person | None:
    """Give the person, or None where the password was changed after it was compared."""
    kept = session.scalar(select(User.password_hash).where(User.id == proven.user_id))
    return find_person(session, user_id=proven.user_id) if kept == proven.kept else None


def _record(session: Session, *, actor: Actor, now: datetime, reason: str) -> None:
    audit.append(session, actor=actor, action=ACTION, subject=actor.id, now=now, outcome=audit.REFUSED, reason=reason)
