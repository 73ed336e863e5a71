"""Who may see which masked field, and who has seen one."""

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import select
from sqlalchemy.orm import Session

from dashboard.models import Reveal

SHOWN = 20


def revealed_fields(session: Session, number: int, *, person: str, now: datetime) -> dict[str, datetime]:
    """The masks of an operation (its row's number) that are lifted for a person now, and until when."""
    rows = session.execute(
        select(Reveal.field, Reveal.ends_at)
        .where(Reveal.operation_id == number, Reveal.revealed_to == person, Reveal.ends_at > now)
        .order_by(Reveal.id)
    )
    return {row.field: row.ends_at for row in rows}


def reveals_of(session: Session, number: int) -> Sequence[Reveal]:
    """The newest reveals of an operation (its row's number); at most twenty."""
    return session.scalars(
        select(Reveal).where(Reveal.operation_id == number).order_by(Reveal.id.desc()).limit(SHOWN)
    ).all()
