"""The worker's part in the figures of history: folding, counting all of it once, and checking the last days."""

import threading
from typing import Protocol

from dashboard.db import Database, transact
from dashboard.services import rollup_checks, rollup_rebuild, rollups


class Stoppable(Protocol):
    """What tells a piece of work to end after the unit in hand."""

    @property
    def stop(self) -> threading.Event: ...


def fold_figures(database: Database, _context: Stoppable) -> bool:
    """Fold what triggers noted into the counters by day; whether there is likely more."""
    return transact(database, rollups.fold_some) == rollups.AT_ONCE


def build_figures(database: Database, context: Stoppable) -> bool:
    """Count all of history once where it is older than its triggers, and check the last days once a day."""
    if not rollup_rebuild.is_built(database):
        rollup_rebuild.rebuild(database, stop=context.stop.is_set)
        return False
    return rollup_checks.check_if_due(database)
