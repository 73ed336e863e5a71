"""What somebody may do at this moment, whatever was true when their request or their vote came in."""

from dataclasses import replace

from sqlalchemy import select
from sqlalchemy.orm import Session

from dashboard.db import clock
from dashboard.domain.permissions import Actor, Grant
from dashboard.domain.states import ActorKind
from dashboard.models import ApiToken, User
from dashboard.services import grant_rows, tokens

API_NAME = "token:"


def as_of_now(session: Session, actor: Actor) -> Actor:
    """The same person or token with the grants that are stored now; without any where there is none any more."""
    return replace(actor, grants=_grants_of(session, actor))


def _grants_of(session: Session, actor: Actor) -> tuple[Grant, ...]:
    if actor.kind is ActorKind.USER:
        number = session.scalar(select(User.id).where(User.email == actor.id, User.disabled_at.is_(None)))
        return grant_rows.grants_of(session, number) if number is not None else ()
    if actor.kind is ActorKind.API and actor.id.startswith(API_NAME):
        row = session.scalar(select(ApiToken).where(ApiToken.name == actor.id.removeprefix(API_NAME)))
        if row is not None and row.revoked_at is None and row.expires_at > clock(session):
            return tokens.grants_of(row)
    return ()
