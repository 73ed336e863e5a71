"""What SQLite knows of how values are spread; servers find that out by themselves.

It chooses among indexes by it: without, it takes one over all of history where one over open rows would do.
"""

from sqlalchemy import text
from sqlalchemy.orm import Session

from dashboard.db import Database, transact

# So many entries of an index are read: the time does not grow with history, about a second. With fewer all of history
# seems as rare as open work, and is read for it: at a million operations the overview took 6 seconds instead of 0.4.
# https://www.sqlite.org/lang_analyze.html#approximate_analyze_for_large_databases
ENTRIES_READ = 100_000


def refresh(database: Database, _context: object = None) -> bool:
    """Let SQLite look over its indexes; False, for there is never more to do."""
    if database.dialect == "sqlite":
        transact(database, _analyze)
    return False


def _analyze(session: Session) -> None:
    session.execute(text(f"PRAGMA analysis_limit={ENTRIES_READ}"))
    session.execute(text("ANALYZE"))
