"""Sessions: where a person is signed in, kept in the database so that ending one ends it for whoever has its cookie.

The cookie holds a secret, the row only its SHA-256: who reads the table can take over nobody. A session ends after a
time without use, after its longest time in any case, when it is ended here, and when the person's `session_epoch` is
raised (sign out everywhere, new password, account disabled).
"""

import hashlib
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from typing import Any

from sqlalchemy import ColumnElement, Select, bindparam, delete, select, update
from sqlalchemy.orm import Session

from dashboard.db import clock_column, rows
from dashboard.domain.errors import NotFoundError
from dashboard.domain.permissions import Actor
from dashboard.domain.text import visible
from dashboard.models import User, UserGrant, UserSession
from dashboard.services import audit
from dashboard.services.grant_rows import grant_of
from dashboard.services.users import PERSON, Person, person_of

TOUCH_EVERY = timedelta(minutes=1)
LONGEST_ADDRESS = 64
LONGEST_AGENT = 255


@dataclass(frozen=True)
class Limits:
    """How long a session lasts: without use, and in any case."""

    idle: timedelta
    absolute: timedelta


@dataclass(frozen=True)
class Current:
    """The session of a request and whose it is, found at a moment of the database's clock.

    `stale` says that its last use has to be written down again.
    """

    id: int
    person: Person
    stale: bool
    at: datetime


def open_session(
    session: Session, *, person: Person, address: str | None, user_agent: str | None, limits: Limits, now: datetime
) -> str:
    """Begin a session and give the secret for its cookie; rows that nobody can use any more are taken away."""
    session.execute(delete(UserSession).where(UserSession.seen_at < now - limits.idle))
    secret = secrets.token_urlsafe(32)
    session.add(
        UserSession(
            secret_hash=_hash(secret),
            user_id=person.id,
            epoch=person.session_epoch,
            created_at=now,
            seen_at=now,
            address=address and visible(address)[:LONGEST_ADDRESS],
            user_agent=user_agent and visible(user_agent)[:LONGEST_AGENT],
        )
    )
    session.flush()
    return secret


def find_session(session: Session, *, secret: str, limits: Limits) -> Current | None:
    """Give the session of a cookie with its person and their grants, in one statement; None where it is over."""
    granted = rows(session, _statement(clock_column(session)), {"secret_hash": _hash(secret)}).all()
    if not granted:
        return None
    found = granted[0]
    if found.disabled_at or found.epoch != found.session_epoch or _is_over(found, limits=limits):
        return None
    person = person_of(found, [grant_of(row) for row in granted if row.role])  # none in an outer join
    return Current(found.number, person, stale=found.now - found.seen_at >= TOUCH_EVERY, at=found.now)


def touch(session: Session, *, session_id: int, now: datetime) -> None:
    """Write down that a session was used."""
    session.execute(update(UserSession).where(UserSession.id == session_id).values(seen_at=now))


def close_session(session: Session, *, secret: str) -> None:
    """End the session of a cookie, for every copy of it."""
    session.execute(delete(UserSession).where(UserSession.secret_hash == _hash(secret)))


def list_sessions(session: Session, *, person: Person, limits: Limits) -> Sequence[UserSession]:
    """Give where a person is signed in, the latest used first."""
    now: datetime = session.execute(select(clock_column(session))).scalar_one()
    rows = session.scalars(
        select(UserSession)
        .where(UserSession.user_id == person.id, UserSession.epoch == person.session_epoch)
        .where(UserSession.seen_at >= now - limits.idle, UserSession.created_at >= now - limits.absolute)
        .order_by(UserSession.seen_at.desc(), UserSession.id.desc())
    )
    return rows.all()


def end_one(session: Session, *, actor: Actor, person: Person, session_id: int, now: datetime) -> None:
    """End one of a person's own sessions; NotFoundError where it is not theirs or has ended."""
    mine = (UserSession.id == session_id, UserSession.user_id == person.id)
    ended = session.scalar(select(UserSession).where(*mine).with_for_update())
    if ended is None:
        raise NotFoundError(session=session_id)
    session.delete(ended)
    _record(session, actor=actor, person=person, ended=[ended], now=now)


def end_others(session: Session, *, actor: Actor, person: Person, kept: int, now: datetime) -> int:
    """End all of a person's own sessions but one, and say how many there were."""
    others = (UserSession.user_id == person.id, UserSession.id != kept)
    ended = session.scalars(select(UserSession).where(*others).order_by(UserSession.id).with_for_update()).all()
    for each in ended:
        session.delete(each)
    if ended:
        _record(session, actor=actor, person=person, ended=ended, now=now)
    return len(ended)


def _record(session: Session, *, actor: Actor, person: Person, ended: Sequence[UserSession], now: datetime) -> None:
    evidence = {
        "ended": [{"began": each.created_at, "address": each.address, "browser": each.user_agent} for each in ended]
    }
    session.flush()
    audit.append(session, actor=actor, action="session_ended", subject=person.email, now=now, evidence=evidence)


def _is_over(found: Any, *, limits: Limits) -> bool:
    return bool(found.now - found.seen_at > limits.idle or found.now - found.began_at > limits.absolute)


@cache
def _statement(now: ColumnElement[datetime]) -> Select[*tuple[Any, ...]]:
    # Every request asks it, and to make it anew takes longer than to ask it.
    granted = (UserGrant.role, UserGrant.tenant, UserGrant.type)
    known = (UserSession.epoch, UserSession.seen_at, UserSession.created_at.label("began_at"))
    return (
        select(*PERSON, *granted, UserSession.id.label("number"), *known, now.label("now"))
        .select_from(User)
        .join(UserSession, UserSession.user_id == User.id)
        .outerjoin(UserGrant, UserGrant.user_id == User.id)
        .where(UserSession.secret_hash == bindparam("secret_hash"))
        .order_by(UserGrant.id)
    )


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()
