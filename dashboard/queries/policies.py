"""What the policy screens count and name: open operations by type, and since when a version is known."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from dashboard.domain.permissions import Scope
from dashboard.models import Operation, PolicyVersion
from dashboard.queries.open_rows import grouped, open_in_scope


def open_by_type(session: Session, *, scopes: Sequence[Scope]) -> Mapping[str, int]:
    """How many operations of each type are open within the grants."""
    counted = (
        select(Operation.type, func.count())
        .where(open_in_scope(scopes))
        .group_by(*grouped([Operation.type]))
        .order_by(*grouped([Operation.type]))
    )
    return {row[0]: row[1] for row in session.execute(counted)}


def known_since(session: Session, policy_hash: str | None) -> datetime | None:
    """When a version was first used; None where it never was, or where there is no file."""
    return session.scalar(select(PolicyVersion.first_seen_at).where(PolicyVersion.hash == policy_hash))
