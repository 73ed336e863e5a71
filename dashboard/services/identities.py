"""Letting a person who has an account sign on at the identity provider from now on: an administrator's decision.

Nobody is taken over by an address alone; whoever decides this has seen who the subject is at the provider.
"""

from datetime import datetime

from sqlalchemy import select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from dashboard.domain.errors import InvalidInputError, NotFoundError, Problem
from dashboard.domain.permissions import Actor
from dashboard.domain.text import visible
from dashboard.models import Identity
from dashboard.services import audit
from dashboard.services.users import authorise, locked

LONGEST = 255


def link(session: Session, *, actor: Actor, email: str, issuer: str, subject: str, now: datetime) -> None:
    """Tie an account to a subject of the provider; its password and sessions end, its groups give its roles.

    Raises NotFoundError, NotAllowedError and InvalidInputError (subject_unknown, identity_exists, identity_taken).
    """
    authorise(actor)
    if not 0 < len(subject) <= LONGEST or visible(subject) != subject:
        raise InvalidInputError((Problem("subject", "subject_unknown"),))
    user = locked(session, email)
    if user is None:
        raise NotFoundError(email=email)
    if session.scalar(select(Identity.id).where(Identity.user_id == user.id)) is not None:
        raise InvalidInputError((Problem("subject", "identity_exists"),))
    try:
        with session.begin_nested():
            session.add(Identity(user_id=user.id, issuer=issuer, subject=subject, created_at=now))
    except IntegrityError as error:
        raise InvalidInputError((Problem("subject", "identity_taken"),)) from error
    user.password_hash, user.password_initial = "", False
    user.session_epoch += 1
    session.flush()
    after = {"issuer": issuer, "subject": subject}
    audit.append(session, actor=actor, action="identity_linked", subject=user.email, now=now, after=after)
