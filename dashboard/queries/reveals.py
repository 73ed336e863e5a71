"""Who may see which masked field, and who has seen one."""

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import bindparam, select
from sqlalchemy.orm import Session

from dashboard.db import rows
from dashboard.models import Reveal
from dashboard.queries.moments import NOW, NUMBER

SHOWN = 20
_LIFTED = (
    select(Reveal.field, Reveal.ends_at)
    .where(Reveal.operation_id == NUMBER, Reveal.revealed_to == bindparam("person"), Reveal.ends_at > NOW)
    .order_by(Reveal.id)
)
_NEWEST = select(Reveal).where(Reveal.operation_id == NUMBER).order_by(Reveal.id.desc()).limit(SHOWN)


def revealed_fields(session: Session, number: int, *, person: str, now: datetime) -> dict[str, datetime]:
    """The masks of an operation (its row's number) that are lifted for a person now, and until when."""
    lifted = rows(session, _LIFTED, {"number": number, "person": person, "now": now})
    return {row.field: row.ends_at for row in lifted}


def reveals_of(session: Session, number: int) -> Sequence[Reveal]:
    """The newest reveals of an operation (its row's number); at most twenty."""
    return session.scalars(_NEWEST, {"number": number}).all()
