"""People who exist: with grants that are stored, so that what they may do can be looked up when it counts."""

from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from dashboard.db import Database, transact
from dashboard.domain.permissions import Actor, Grant, Role
from dashboard.domain.states import ActorKind
from dashboard.models import User, UserGrant
from dashboard.services import grant_rows
from tests import factories


def person(database: Database, role: Role, *, name: str | None = None, tenant: str | None = None) -> Actor:
    """Somebody with this role, for one tenant or for all."""
    email = name or f"{role}@example.com"

    def unit(session: Session) -> None:
        user = User(email=email, password_hash="unused", created_at=factories.NOW)
        session.add(user)
        session.flush()
        session.add(grant_rows.row_of(user.id, Grant(role, tenant), now=factories.NOW))

    transact(database, unit)
    return Actor(ActorKind.USER, email, (Grant(role, tenant),), "127.0.0.1", "request-1")


def dismiss(database: Database, who: Actor) -> None:
    """Take all grants away; who has a page open does not know yet."""
    number = select(User.id).where(User.email == who.id).scalar_subquery()
    transact(database, lambda session: session.execute(delete(UserGrant).where(UserGrant.user_id == number)))
