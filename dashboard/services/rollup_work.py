"""The worker's part in the figures: counting all of history once, folding and checking it, and counting open work."""

import threading
from typing import Protocol

from dashboard.db import Database, transact
from dashboard.domain.ages import windows_of
from dashboard.domain.policy import Policies
from dashboard.services import open_snapshots, rollup_checks, rollup_rebuild, rollups


class Stoppable(Protocol):
    """What tells a piece of work to end after the unit in hand."""

    @property
    def stop(self) -> threading.Event: ...


class Ruled(Protocol):
    """What knows the policies in force."""

    @property
    def policies(self) -> Policies: ...


def count_open(database: Database, context: Ruled) -> bool:
    """Count open work where there is too much of it to count at each look; whether it was."""
    return open_snapshots.refresh(database, windows=windows_of(context.policies))


def fold_figures(database: Database, _context: Stoppable) -> bool:
    """Fold what triggers noted into the counters by day; whether there is likely more."""
    return transact(database, rollups.fold_some) == rollups.AT_ONCE


def build_figures(database: Database, context: Stoppable) -> bool:
    """Count all of history once where it is older than its triggers, and check the last days once a day."""
    if not rollup_rebuild.is_built(database):
        rollup_rebuild.rebuild(database, stop=context.stop.is_set)
        return False
    return rollup_checks.check_if_due(database)
