"""Giving people roles and taking them away; each change is audited and counts from the person's next request on.

Who signs on at an identity provider has exactly the roles that the groups there give, so nobody else changes them.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime

from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from dashboard.domain.errors import InvalidInputError, NotFoundError, Problem
from dashboard.domain.permissions import Actor, Grant
from dashboard.models import Identity, User, UserGrant
from dashboard.services import audit
from dashboard.services.grant_rows import check_duties, check_scope, grant_of, grants_of, row_of, told
from dashboard.services.users import authorise, locked

GROUPS = "grants_from_groups"


def add_grant(session: Session, *, actor: Actor, email: str, grant: Grant, now: datetime) -> bool:
    """Give a person a role; False if they have it already. Raises NotFoundError, InvalidInputError, NotAllowedError."""
    authorise(actor)
    if problems := check_scope(grant):
        raise InvalidInputError(problems)
    user = _governed(session, email)
    had = grants_of(session, user.id)
    if grant in had:
        return False
    if problems := check_duties((*had, grant)):
        raise InvalidInputError(problems)
    session.add(row_of(user.id, grant, now=now))
    session.flush()
    _record(session, user, actor=actor, action="grant_added", about=grant, had=had, has=(*had, grant), now=now)
    return True


def remove_grant(session: Session, *, actor: Actor, email: str, grant: Grant, now: datetime) -> bool:
    """Take a role away; False if the person does not have it. Raises NotFoundError, InvalidInputError, NotAllowedError.

    Nobody takes their own admin role away, so that one administrator is left.
    """
    authorise(actor)
    user = _governed(session, email)
    if user.email == actor.id:
        raise InvalidInputError((Problem("role", "grant_own"),))
    had = grants_of(session, user.id)
    if grant not in had:
        return False
    _delete(session, user.id, [grant])
    left = tuple(each for each in had if each != grant)
    _record(session, user, actor=actor, action="grant_removed", about=grant, had=had, has=left, now=now)
    return True


def replace_grants(session: Session, *, actor: Actor, user: User, grants: Sequence[Grant], now: datetime) -> bool:
    """Give a person exactly these roles, as their groups say; False where they have just these.

    Who has none left is signed out. What may not be held together is the caller's to refuse.
    """
    had = grants_of(session, user.id)
    if set(had) == set(grants):
        return False
    _delete(session, user.id, set(had) - set(grants))
    session.add_all(row_of(user.id, grant, now=now) for grant in dict.fromkeys(grants) if grant not in had)
    if not grants:
        user.session_epoch += 1
    session.flush()
    _record(session, user, actor=actor, action="grants_from_groups", about=None, had=had, has=tuple(grants), now=now)
    return True


def signs_on(session: Session, user_id: int) -> bool:
    """Tell whether the person comes from an identity provider."""
    return session.scalar(select(Identity.id).where(Identity.user_id == user_id)) is not None


def _governed(session: Session, email: str) -> User:
    """Give the person, locked, unless their groups decide what they may."""
    user = locked(session, email)
    if user is None:
        raise NotFoundError(email=email)
    if signs_on(session, user.id):
        raise InvalidInputError((Problem("role", GROUPS),))
    return user


def _delete(session: Session, user_id: int, grants: Iterable[Grant]) -> None:
    gone = set(grants)
    rows = session.scalars(select(UserGrant).where(UserGrant.user_id == user_id)).all()
    numbers = [row.id for row in rows if grant_of(row) in gone]
    if numbers:
        session.execute(delete(UserGrant).where(UserGrant.id.in_(numbers)))


def _record(
    session: Session,
    user: User,
    *,
    actor: Actor,
    action: str,
    about: Grant | None,
    had: Sequence[Grant],
    has: Sequence[Grant],
    now: datetime,
) -> None:
    audit.append(
        session,
        actor=actor,
        action=action,
        subject=user.email,
        now=now,
        tenant=about.tenant if about else None,
        type=about.type if about else None,
        before={"grants": told(had)},
        after={"grants": told(has)},
    )
