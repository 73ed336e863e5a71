"""That a report left as a file is worth an entry of the audit log."""

from dashboard.db import Database, clock, transact
from dashboard.domain.permissions import Actor
from dashboard.services import audit


def note(database: Database, *, actor: Actor, month: str) -> int:
    """Append the entry that tells of the export of a month, and give its number."""
    return transact(
        database,
        lambda session: audit.append(
            session, actor=actor, action="report_export", subject=f"decisions {month}", now=clock(session)
        ),
    )
