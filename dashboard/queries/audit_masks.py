"""What policy keeps from sight in entries of the audit log, where people repeat masked values in their own words."""

from collections.abc import Iterable, Mapping
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from dashboard.domain.masking import Hiding
from dashboard.domain.policy import Policies
from dashboard.models import Operation


def hidings(session: Session, entries: Iterable[Any], *, policies: Policies) -> Mapping[str, Hiding]:
    """By subject, what to hide of these entries, with the values that their operations expect.

    Only the operations of types that mask anything are looked up, in one statement; without such, none is sent.
    """
    masked = {entry.subject for entry in entries if entry.type and policies.of(entry.type).mask}
    if not masked:
        return {}
    found = select(Operation.operation_id, Operation.type, Operation.expected).where(
        Operation.operation_id.in_(sorted(masked))
    )
    return {row.operation_id: policies.of(row.type).hiding(row.expected) for row in session.execute(found)}


def hiding_for(entry: Any, hidden: Mapping[str, Hiding], *, policies: Policies) -> Hiding:
    """What to hide of one of them; where its operation is gone, the masked fields alone."""
    if not entry.type:
        return Hiding()
    return hidden.get(entry.subject) or policies.of(entry.type).hiding()
