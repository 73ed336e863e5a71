"""Recording what became of claimed work: together with what else has ended by then, and patiently.

Until it is recorded, this process alone knows that an effect was made; what it never records is looked up.
"""

import logging
import time
from collections.abc import Sequence
from queue import Empty, Queue
from typing import TypeAlias

from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError

from dashboard.db import Database, transact
from dashboard.domain.permissions import Actor
from dashboard.domain.policy import Policies
from dashboard.domain.work import Work
from dashboard.services import attempts
from dashboard.services.attempts import Outcome

# So many effects may be made before the first of them is recorded: a crash leaves no more of them to be looked up.
UNRECORDED = 25
PAUSES = (0.1, 0.2, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0)
LEFT = "operation %s was left to its lease"

Outcomes: TypeAlias = Sequence[tuple[Work, Outcome]]

log = logging.getLogger("dashboard.worker")


class Recorder:
    """Takes outcomes from the threads that make them and writes them on the one thread that records."""

    def __init__(self, database: Database, policies: Policies, actor: Actor) -> None:
        self._database = database
        self._policies = policies
        self._actor = actor
        self._came: Queue[tuple[Work, Outcome | None]] = Queue(UNRECORDED)

    def put(self, work: Work, outcome: Outcome | None) -> None:
        """Hand over what became of one operation, None where there is nothing to record; waits while too many wait."""
        self._came.put((work, outcome))

    def record(self, operations: int) -> None:
        """Write the outcomes of so many operations, each as soon as it is there with all that came meanwhile."""
        while operations:
            came = [self._came.get(), *self._waiting()]
            operations -= len(came)
            known = [(work, outcome) for work, outcome in came if outcome is not None]
            if known:
                self._keep(known)

    def _waiting(self) -> list[tuple[Work, Outcome | None]]:
        waiting: list[tuple[Work, Outcome | None]] = []
        try:
            while len(waiting) < UNRECORDED:
                waiting.append(self._came.get_nowait())
        except Empty:
            pass
        return waiting

    def _keep(self, outcomes: Outcomes) -> None:
        """Write them together, and one by one where that fails for the sake of one of them."""
        try:
            keep(self._database, outcomes, policies=self._policies, actor=self._actor)
        except Exception as error:
            if len(outcomes) == 1 or _is_away(error):
                log.exception(LEFT, ", ".join(work.operation_id for work, _ in outcomes))
                return
            for outcome in outcomes:
                self._keep([outcome])


def keep(database: Database, outcomes: Outcomes, *, policies: Policies, actor: Actor) -> None:
    """Record outcomes in one transaction, again and again while the database is away; lost leases are logged.

    A connection that breaks during COMMIT is tried again as well: if the first try did count, the lease is gone
    and the second changes nothing. Raises the engine's error once the patience is used up.
    """
    for pause in (*PAUSES, None):
        try:
            lost = transact(
                database, lambda session: attempts.settle(session, outcomes, policies=policies, actor=actor)
            )
        except DBAPIError as error:
            if pause is None or not _is_away(error):
                raise
            first = outcomes[0][0]
            log.warning("operation %s: the database is away, trying again", first.operation_id, extra=first.named)
            time.sleep(pause)
        else:
            for work in lost:
                log.warning("operation %s is no longer held: nothing was changed", work.operation_id, extra=work.named)
            return


def _is_away(error: Exception) -> bool:
    if not isinstance(error, DBAPIError):
        return False
    return error.connection_invalidated or isinstance(error, OperationalError | InterfaceError)
