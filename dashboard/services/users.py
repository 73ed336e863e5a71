"""People who may sign in: who they are, what they are granted, and what they prefer. Every change is audited."""

import re
from collections.abc import Collection, Iterable
from dataclasses import asdict, dataclass
from datetime import datetime
from zoneinfo import available_timezones

from sqlalchemy import select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from dashboard.db import Database, clock, transact
from dashboard.domain.errors import InvalidInputError, NotAllowedError, NotFoundError, Problem
from dashboard.domain.permissions import Actor, Grant, Permission, Role, holds
from dashboard.domain.states import ActorKind
from dashboard.domain.text import TextError, check_text, without_invisible
from dashboard.models import User, UserGrant
from dashboard.services import audit
from dashboard.services.passwords import check_password, hash_password

MAX_EMAIL = 254
MAX_SCOPE = 64
EMAIL = re.compile(r"[^@\s]+@[^@\s]+")
THEMES = ("system", "light", "dark")


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


@dataclass(frozen=True)
class Preferences:
    """What a person chose about how pages look; None leaves language or time zone to the default."""

    locale: str | None
    timezone: str | None
    theme: str
    shortcuts: bool


def clean_email(email: str) -> str:
    """Give the one form an address is stored and looked up in."""
    return email.strip().lower()


def is_email(email: str) -> bool:
    """Tell whether a cleaned address has the shape of one and can be stored."""
    return len(email) <= MAX_EMAIL and EMAIL.fullmatch(email) is not None and without_invisible(email) == email


def add_user(database: Database, *, actor: Actor, email: str, password: str, grants: Iterable[Grant]) -> Person:
    """Add a person; no transaction is open while the password is hashed.

    Raises InvalidInputError (email_invalid, email_taken, password_..., grant_mixes_admin) and NotAllowedError.
    """
    _authorise(actor)
    address, given = clean_email(email), tuple(grants)
    problems = [] if is_email(address) else [Problem("email", "email_invalid")]
    problems.extend(check_password(password, email=address))
    problems.extend(problem for grant in given for problem in _check_grant(grant))
    problems.extend(_check_duties(given))
    if problems:
        raise InvalidInputError(problems)
    kept = hash_password(password)
    return transact(database, lambda session: _add(session, actor=actor, email=address, kept=kept, grants=given))


def add_grant(session: Session, *, actor: Actor, email: str, grant: Grant, now: datetime) -> bool:
    """Give a person a role; False if they have it already. Raises NotFoundError, InvalidInputError, NotAllowedError."""
    _authorise(actor)
    if problems := _check_grant(grant):
        raise InvalidInputError(problems)
    user = _by_email(session, email)
    had = grants_of(session, user.id)
    if grant in had:
        return False
    if problems := _check_duties((*had, grant)):
        raise InvalidInputError(problems)
    session.add(_row(user.id, grant, now))
    session.flush()
    audit.append(
        session,
        actor=actor,
        action="grant_added",
        subject=user.email,
        now=now,
        tenant=grant.tenant,
        type=grant.type,
        before={"grants": _told(had)},
        after={"grants": _told((*had, grant))},
    )
    return True


def disable_user(session: Session, *, actor: Actor, email: str, now: datetime) -> bool:
    """Bar a person and end their sessions; False if they were barred already. Raises NotFoundError, NotAllowedError."""
    _authorise(actor)
    user = _by_email(session, email)
    if user.disabled_at is not None:
        return False
    user.disabled_at = now
    user.session_epoch += 1
    session.flush()
    audit.append(session, actor=actor, action="user_disabled", subject=user.email, now=now)
    return True


def list_users(session: Session) -> list[Person]:
    """Give everybody by e-mail, with their grants."""
    grants: dict[int, list[Grant]] = {}
    for row in session.scalars(select(UserGrant).order_by(UserGrant.id)):
        grants.setdefault(row.user_id, []).append(_grant(row))
    users = session.scalars(select(User).order_by(User.email))
    return [_person(user, grants.get(user.id, [])) for user in users]


def find_person(session: Session, *, user_id: int) -> Person | None:
    """Give a person with their grants in one query, or None."""
    rows = session.execute(
        select(User, UserGrant)
        .outerjoin(UserGrant, UserGrant.user_id == User.id)
        .where(User.id == user_id)
        .order_by(UserGrant.id)
    ).all()
    granted: list[UserGrant | None] = [row for _, row in rows]  # none of them in an outer join
    return _person(rows[0][0], [_grant(row) for row in granted if row]) if rows else None


def grants_of(session: Session, user_id: int) -> tuple[Grant, ...]:
    """Give what a person is granted, oldest first."""
    rows = session.scalars(select(UserGrant).where(UserGrant.user_id == user_id).order_by(UserGrant.id))
    return tuple(_grant(row) for row in rows)


def set_preferences(
    session: Session, *, actor: Actor, user_id: int, chosen: Preferences, languages: Collection[str], now: datetime
) -> None:
    """Keep how a person wants pages to look; raises InvalidInputError (locale_unknown, timezone_unknown, ...)."""
    problems = _check_preferences(chosen, languages)
    if problems:
        raise InvalidInputError(problems)
    user = session.get_one(User, user_id, with_for_update=True)
    before = Preferences(user.locale, user.timezone, user.theme, user.shortcuts)
    if chosen == before:
        return
    user.locale, user.timezone = chosen.locale, chosen.timezone
    user.theme, user.shortcuts = chosen.theme, chosen.shortcuts
    session.flush()
    audit.append(
        session,
        actor=actor,
        action="preferences_changed",
        subject=user.email,
        now=now,
        before=asdict(before),
        after=asdict(chosen),
    )


def sign_out_everywhere(session: Session, *, actor: Actor, user_id: int, now: datetime) -> None:
    """End all sessions of a person, the present one too."""
    user = session.get_one(User, user_id, with_for_update=True)
    user.session_epoch += 1
    session.flush()
    audit.append(session, actor=actor, action="signed_out_everywhere", subject=user.email, now=now)


def _authorise(actor: Actor) -> None:
    # The command line acts as the system: who can run it already holds the database.
    if actor.kind is not ActorKind.SYSTEM and not holds(actor.grants, Permission.ADMINISTER):
        raise NotAllowedError(permission=Permission.ADMINISTER.value)


def _add(session: Session, *, actor: Actor, email: str, kept: str, grants: tuple[Grant, ...]) -> Person:
    now = clock(session)
    user = _insert(session, User(email=email, password_hash=kept, created_at=now))
    session.add_all(_row(user.id, grant, now) for grant in grants)
    audit.append(session, actor=actor, action="user_added", subject=email, now=now, after={"grants": _told(grants)})
    return _person(user, grants)


def _insert(session: Session, user: User) -> User:
    try:
        with session.begin_nested():
            session.add(user)
    except IntegrityError as error:
        raise InvalidInputError((Problem("email", "email_taken"),)) from error
    return user


def _by_email(session: Session, email: str) -> User:
    address = clean_email(email)
    user = None
    if is_email(address):
        user = session.scalar(select(User).where(User.email == address).with_for_update())
    if user is None:
        raise NotFoundError(email=email)
    return user


def _check_grant(grant: Grant) -> tuple[Problem, ...]:
    named = (("tenant", grant.tenant), ("type", grant.type))
    return tuple(Problem(field, "scope_invalid", {"maximum": MAX_SCOPE}) for field, name in named if _is_bad(name))


def _check_duties(grants: Iterable[Grant]) -> tuple[Problem, ...]:
    """Whoever hands out roles neither proposes nor approves: nobody is an admin and something else."""
    roles = {grant.role for grant in grants}
    return (Problem("role", "grant_mixes_admin"),) if Role.ADMIN in roles and len(roles) > 1 else ()


def _is_bad(name: str | None) -> bool:
    if name is None:
        return False
    try:
        return not 0 < len(check_text(name)) <= MAX_SCOPE
    except TextError:
        return True


def _check_preferences(chosen: Preferences, languages: Collection[str]) -> tuple[Problem, ...]:
    problems = []
    if chosen.locale is not None and chosen.locale not in languages:
        problems.append(Problem("locale", "locale_unknown"))
    if chosen.timezone is not None and chosen.timezone not in available_timezones():
        problems.append(Problem("timezone", "timezone_unknown"))
    if chosen.theme not in THEMES:
        problems.append(Problem("theme", "theme_unknown"))
    return tuple(problems)


def _person(user: User, grants: Iterable[Grant]) -> Person:
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
    )


def _grant(row: UserGrant) -> Grant:
    return Grant(Role(row.role), row.tenant, row.type)


def _row(user_id: int, grant: Grant, now: datetime) -> UserGrant:
    return UserGrant(user_id=user_id, role=str(grant.role), tenant=grant.tenant, type=grant.type, created_at=now)


def _told(grants: Iterable[Grant]) -> list[dict[str, str | None]]:
    return [{"role": grant.role, "tenant": grant.tenant, "type": grant.type} for grant in grants]
