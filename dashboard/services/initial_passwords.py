"""Initial passwords: made by chance, handed over by an administrator, and replaced by the person before anything else.

There is no invitation by e-mail, so nobody can take one over; until the person has replaced it, the administrator
knows the password, which the audit log shows.
"""

import secrets

from sqlalchemy import select
from sqlalchemy.orm import Session

from dashboard.db import Database, clock, transact
from dashboard.domain.errors import InvalidInputError, NotFoundError, Problem
from dashboard.domain.permissions import Actor
from dashboard.models import Identity
from dashboard.services import audit
from dashboard.services.passwords import hash_password
from dashboard.services.users import authorise, locked

# Without letters and digits that look alike on paper.
LETTERS = "abcdefghjkmnpqrstuvwxyz23456789"
PARTS, LENGTH = 5, 4


def generate() -> str:
    """Make a password of about 99 bits in groups that can be read out."""
    return "-".join("".join(secrets.choice(LETTERS) for _ in range(LENGTH)) for _ in range(PARTS))


def hand_over(database: Database, *, actor: Actor, email: str) -> str:
    """Give a person a new initial password, end their sessions, and give the password to show once.

    Raises NotFoundError, NotAllowedError, and InvalidInputError for one's own account and for people of the provider.
    """
    authorise(actor)
    password = generate()
    kept = hash_password(password)
    transact(database, lambda session: _set(session, actor=actor, email=email, kept=kept))
    return password


def _set(session: Session, *, actor: Actor, email: str, kept: str) -> None:
    user = locked(session, email)
    if user is None:
        raise NotFoundError(email=email)
    if user.email == actor.id:
        raise InvalidInputError((Problem("email", "password_own"),))
    if session.scalar(select(Identity.id).where(Identity.user_id == user.id)) is not None:
        raise InvalidInputError((Problem("email", "password_of_provider"),))
    user.password_hash, user.password_initial = kept, True
    user.session_epoch += 1
    session.flush()
    audit.append(session, actor=actor, action="password_handed_over", subject=user.email, now=clock(session))
