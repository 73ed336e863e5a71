"""People for the screens of administrators: a list by e-mail, and one person with what belongs to them."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Select, func, select
from sqlalchemy.orm import Session

from dashboard.models import Identity, User, UserGrant, UserSession
from dashboard.queries import keyset, totals
from dashboard.queries.keyset import Page, Position, Sort
from dashboard.queries.totals import Total

BY_EMAIL = Sort("email", User.email, User.id, descending=False, read=str)
ACTIVE, DISABLED = "active", "disabled"
STATUSES = (ACTIVE, DISABLED)
LOCAL, PROVIDER = "local", "provider"
SOURCES = (LOCAL, PROVIDER)


@dataclass(frozen=True)
class PeopleFilter:
    """Which people: part of the e-mail, a role they have, whether they may sign in, and where they do."""

    text: str | None = None
    role: str | None = None
    status: str | None = None
    source: str | None = None


def list_people(session: Session, filters: PeopleFilter, *, position: Position) -> Page:
    """A page of people by e-mail; that the reader may administer is the caller's to check."""
    statement: Select[*tuple[Any, ...]] = select(User.id, User.email).where(*_conditions(filters))
    narrow = keyset.narrow(statement, sort=BY_EMAIL, position=position).subquery("page")
    order = keyset.wide_order(BY_EMAIL, position, key=narrow.c.email, number=narrow.c.id)
    seen = select(func.max(UserSession.seen_at)).where(UserSession.user_id == User.id).scalar_subquery()
    wide = (
        select(
            User.id.label("number"),
            User.email.label("key"),
            User.disabled_at,
            User.password_initial,
            Identity.id.label("identity"),
            seen.label("seen_at"),
        )
        .join(narrow, narrow.c.id == User.id)
        .join(Identity, Identity.user_id == User.id, isouter=True)
        .order_by(*order)
    )
    return keyset.fetch(session, wide, sort=BY_EMAIL, position=position)


def count_people(session: Session, filters: PeopleFilter) -> Total:
    """How many people the list has, counted up to 10,000."""
    return totals.capped(session, select(User.id).where(*_conditions(filters)))


def grants_by_person(session: Session, numbers: Sequence[int]) -> dict[int, list[UserGrant]]:
    """The grants of these people, oldest first, in one statement."""
    found: dict[int, list[UserGrant]] = defaultdict(list)
    rows = session.scalars(select(UserGrant).where(UserGrant.user_id.in_(numbers)).order_by(UserGrant.id))
    for row in rows:
        found[row.user_id].append(row)
    return found


@dataclass(frozen=True)
class PersonFacts:
    """What an administrator sees of a person besides roles and sessions."""

    created_at: datetime
    issuer: str | None
    subject: str | None


def person_facts(session: Session, user_id: int) -> PersonFacts | None:
    """Since when there is this person, and who they are at the identity provider; None where there is no such one."""
    row = session.execute(
        select(User.created_at, Identity.issuer, Identity.subject)
        .outerjoin(Identity, Identity.user_id == User.id)
        .where(User.id == user_id)
    ).one_or_none()
    return PersonFacts(*row) if row else None


def _conditions(filters: PeopleFilter) -> list[ColumnElement[bool]]:
    found: list[ColumnElement[bool]] = []
    if filters.text:
        found.append(User.email.contains(filters.text.lower(), autoescape=True))
    if filters.role:
        found.append(User.id.in_(select(UserGrant.user_id).where(UserGrant.role == filters.role)))
    if filters.status:
        found.append(User.disabled_at.is_(None) if filters.status == ACTIVE else User.disabled_at.is_not(None))
    if filters.source:
        known = User.id.in_(select(Identity.user_id))
        found.append(known if filters.source == PROVIDER else ~known)
    return found
