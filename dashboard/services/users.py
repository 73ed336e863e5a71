"""People who may sign in: who they are, and whether they may. Every change is audited."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from dashboard.db import Database, clock, transact
from dashboard.domain.errors import InvalidInputError, NotAllowedError, NotFoundError, Problem
from dashboard.domain.permissions import Actor, Grant, Permission, holds
from dashboard.domain.states import ActorKind
from dashboard.domain.text import without_invisible
from dashboard.models import User, UserGrant
from dashboard.services import audit
from dashboard.services.grant_rows import check_grants, grant_of, row_of, told
from dashboard.services.passwords import check_password, hash_password

MAX_EMAIL = 254
EMAIL = re.compile(r"[^@\s]+@[^@\s]+")
PERSON = (
    User.id,
    User.email,
    User.session_epoch,
    User.locale,
    User.timezone,
    User.theme,
    User.shortcuts,
    User.disabled_at,
    User.password_hash,
    User.password_initial,
)


@dataclass(frozen=True)
class Person:
    """A user as the edges see one, without the password."""

    id: int
    email: str
    session_epoch: int
    locale: str | None
    timezone: str | None
    theme: str
    shortcuts: bool
    disabled_at: datetime | None
    grants: tuple[Grant, ...]
    has_password: bool = True
    password_initial: bool = False


def clean_email(email: str) -> str:
    """Give the one form an address is stored and looked up in."""
    return email.strip().lower()


def is_email(email: str) -> bool:
    """Tell whether a cleaned address has the shape of one and can be stored."""
    return len(email) <= MAX_EMAIL and EMAIL.fullmatch(email) is not None and without_invisible(email) == email


def add_user(
    database: Database, *, actor: Actor, email: str, password: str, grants: Iterable[Grant], initial: bool = False
) -> Person:
    """Add a person; no transaction is open while the password is hashed.

    An `initial` password is one that somebody hands over: the person has to replace it before anything else.
    Raises InvalidInputError (email_invalid, email_taken, password_..., grant_mixes_admin) and NotAllowedError.
    """
    authorise(actor)
    address, given = clean_email(email), tuple(grants)
    problems = [] if is_email(address) else [Problem("email", "email_invalid")]
    problems.extend(check_password(password, email=address))
    problems.extend(check_grants(given))
    if problems:
        raise InvalidInputError(problems)
    user = {"email": address, "password_hash": hash_password(password), "password_initial": initial}
    return transact(database, lambda session: _add(session, User(**user), actor=actor, grants=given))


def disable_user(session: Session, *, actor: Actor, email: str, now: datetime) -> bool:
    """Bar a person and end their sessions; False if they were barred already.

    Raises NotFoundError, NotAllowedError, and InvalidInputError for one's own account.
    """
    user = _administered(session, actor=actor, email=email)
    if user.email == actor.id:
        raise InvalidInputError((Problem("email", "account_own"),))
    if user.disabled_at is not None:
        return False
    user.disabled_at = now
    user.session_epoch += 1
    session.flush()
    audit.append(session, actor=actor, action="user_disabled", subject=user.email, now=now)
    return True


def enable_user(session: Session, *, actor: Actor, email: str, now: datetime) -> bool:
    """Let a barred person sign in again; False if nobody barred them. Raises NotFoundError, NotAllowedError."""
    user = _administered(session, actor=actor, email=email)
    if user.disabled_at is None:
        return False
    user.disabled_at = None
    session.flush()
    audit.append(session, actor=actor, action="user_enabled", subject=user.email, now=now)
    return True


def sign_out_user(session: Session, *, actor: Actor, email: str, now: datetime) -> None:
    """End all sessions of somebody else. Raises NotFoundError, NotAllowedError."""
    user = _administered(session, actor=actor, email=email)
    sign_out_everywhere(session, actor=actor, user_id=user.id, now=now)


def list_users(session: Session) -> list[Person]:
    """Give everybody by e-mail, with their grants."""
    grants: dict[int, list[Grant]] = {}
    for row in session.scalars(select(UserGrant).order_by(UserGrant.id)):
        grants.setdefault(row.user_id, []).append(grant_of(row))
    users = session.scalars(select(User).order_by(User.email))
    return [person_of(user, grants.get(user.id, [])) for user in users]


def find_person(session: Session, *, user_id: int) -> Person | None:
    """Give a person with their grants in one query, or None."""
    rows = session.execute(
        select(User, UserGrant)
        .outerjoin(UserGrant, UserGrant.user_id == User.id)
        .where(User.id == user_id)
        .order_by(UserGrant.id)
    ).all()
    granted: list[UserGrant | None] = [row for _, row in rows]  # none of them in an outer join
    return person_of(rows[0][0], [grant_of(row) for row in granted if row]) if rows else None


def sign_out_everywhere(session: Session, *, actor: Actor, user_id: int, now: datetime) -> None:
    """End all sessions of a person, the present one too."""
    user = session.get_one(User, user_id, with_for_update=True)
    user.session_epoch += 1
    session.flush()
    audit.append(session, actor=actor, action="signed_out_everywhere", subject=user.email, now=now)


def authorise(actor: Actor) -> None:
    """Refuse whoever may not administer people; raises NotAllowedError."""
    # The command line acts as the system: who can run it already holds the database.
    if actor.kind is not ActorKind.SYSTEM and not holds(actor.grants, Permission.ADMINISTER):
        raise NotAllowedError(permission=Permission.ADMINISTER.value)


def _add(session: Session, user: User, *, actor: Actor, grants: tuple[Grant, ...]) -> Person:
    user.created_at = now = clock(session)
    insert(session, user)
    session.add_all(row_of(user.id, grant, now=now) for grant in grants)
    audit.append(session, actor=actor, action="user_added", subject=user.email, now=now, after={"grants": told(grants)})
    return person_of(user, grants)


def insert(session: Session, user: User) -> User:
    """Put a person into the table; raises InvalidInputError where somebody has the address."""
    try:
        with session.begin_nested():
            session.add(user)
    except IntegrityError as error:
        raise InvalidInputError((Problem("email", "email_taken"),)) from error
    return user


def locked(session: Session, email: str) -> User | None:
    """Give a person and keep others from changing them until the transaction ends; None where there is no such one."""
    address = clean_email(email)
    if not is_email(address):
        return None
    return session.scalar(select(User).where(User.email == address).with_for_update())


def person_of(user: Any, grants: Iterable[Grant]) -> Person:
    """Give a row, or one of the columns PERSON, as the edges see it."""
    return Person(
        id=user.id,
        email=user.email,
        session_epoch=user.session_epoch,
        locale=user.locale,
        timezone=user.timezone,
        theme=user.theme,
        shortcuts=user.shortcuts,
        disabled_at=user.disabled_at,
        grants=tuple(grants),
        has_password=bool(user.password_hash),
        password_initial=user.password_initial,
    )


def _administered(session: Session, *, actor: Actor, email: str) -> User:
    authorise(actor)
    user = locked(session, email)
    if user is None:
        raise NotFoundError(email=email)
    return user
