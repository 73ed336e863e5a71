"""Grants of people as rows, as domain values, and as the audit log tells them; what may be granted together."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from dashboard.domain.errors import Problem
from dashboard.domain.permissions import Grant, Role
from dashboard.domain.text import TextError, check_text
from dashboard.models import UserGrant

MAX_SCOPE = 64


def grants_of(session: Session, user_id: int) -> tuple[Grant, ...]:
    """Give what a person is granted, oldest first."""
    rows = session.scalars(select(UserGrant).where(UserGrant.user_id == user_id).order_by(UserGrant.id))
    return tuple(grant_of(row) for row in rows)


def grant_of(row: Any) -> Grant:
    """Give a row as the domain knows it."""
    return Grant(Role(row.role), row.tenant, row.type)


def row_of(user_id: int, grant: Grant, *, now: datetime) -> UserGrant:
    """Make the row of a grant that has a role."""
    assert grant.role is not None, "a person is granted roles"  # noqa: S101 - a fault of ours, not input
    return UserGrant(user_id=user_id, role=grant.role.value, tenant=grant.tenant, type=grant.type, created_at=now)


def told(grants: Iterable[Grant]) -> list[dict[str, str | None]]:
    """Give grants as audit entries hold them."""
    return [{"role": grant.role and grant.role.value, "tenant": grant.tenant, "type": grant.type} for grant in grants]


def check_grants(grants: Iterable[Grant]) -> tuple[Problem, ...]:
    """Say what is wrong with these grants for one person: bad names, or the admin role beside another one."""
    given = tuple(grants)
    problems = [problem for grant in given for problem in check_scope(grant)]
    return (*problems, *check_duties(given))


def check_scope(grant: Grant) -> tuple[Problem, ...]:
    """Say which names of the grant's scope cannot be stored."""
    named = (("tenant", grant.tenant), ("type", grant.type))
    return tuple(Problem(field, "scope_invalid", {"maximum": MAX_SCOPE}) for field, name in named if _is_bad(name))


def check_duties(grants: Iterable[Grant]) -> tuple[Problem, ...]:
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
