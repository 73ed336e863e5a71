"""Publishing what one claim holds: keys side by side, each key in its order, each message marked once it was taken.

A lane takes the messages of one key and stops at the first that is not taken; before each it asks whether the sink is
still there. What was not begun is given back.
"""

import random
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from concurrent.futures import Future, wait
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from queue import Empty, SimpleQueue
from threading import Lock
from typing import Self, TypeAlias

from sqlalchemy.orm import Session

from dashboard.adapters.sinks.outcomes import MessageRefusedError, PublishError, SinkAwayError
from dashboard.db import Database, assert_outside_transaction, clock, transact
from dashboard.domain.messages import MessageState, Outgoing
from dashboard.services import outbox_claims, outbox_sinks
from dashboard.services.outbox_claims import Claim

# Well below the lease: what was not begun by then is given back.
SECONDS = 10.0
AWAY_IN_A_ROW = 3
LOOK_SECONDS = 0.1

Stop: TypeAlias = Callable[[], bool]
# Publishes one message at this time and says what went wrong, if anything did.
Send: TypeAlias = Callable[[Outgoing, datetime], PublishError | None]
# Runs a lane on a thread.
Submit: TypeAlias = Callable[[Callable[[], None]], Future[None]]


@dataclass(frozen=True)
class Result:
    """What became of one message: `sent` or not begun, and the error if it was not taken."""

    message: Outgoing
    sent: bool
    error: PublishError | None = None


@dataclass
class Tally:
    """What became of messages: taken, to be tried again, dead, or given back as if they had not been claimed."""

    published: int = 0
    failed: int = 0
    dead: int = 0
    released: int = 0

    def __bool__(self) -> bool:
        # Giving back is no progress, and another round at once would end the same way.
        return bool(self.published or self.failed or self.dead)

    def __iadd__(self, other: "Tally") -> Self:
        self.published += other.published
        self.failed += other.failed
        self.dead += other.dead
        self.released += other.released
        return self


@dataclass
class Batch:
    """One claim on its way; `streak` holds the last results in a row that say that the sink is away."""

    sink: str
    claim: Claim
    max_claims: int
    was_away: bool = False
    tally: Tally = field(default_factory=Tally)
    streak: list[tuple[Outgoing, SinkAwayError]] = field(default_factory=list)

    @property
    def is_away(self) -> bool:
        """Whether the sink takes nothing: several in a row failed for its sake, or all there were."""
        return bool(self.streak) and (len(self.streak) >= AWAY_IN_A_ROW or not self.tally.published)

    @property
    def runs(self) -> Iterable[Sequence[Outgoing]]:
        """The messages of each key, in their order."""
        by_key: dict[str, list[Outgoing]] = defaultdict(list)
        for message in self.claim.messages:
            by_key[message.aggregate_key].append(message)
        return by_key.values()


class Lanes:
    """Sends the runs of a batch; the threads agree here on when to stop, without waiting for who records."""

    def __init__(self, send: Send, *, claimed_at: datetime) -> None:
        self.results: SimpleQueue[Result] = SimpleQueue()
        self._send = send
        self._claimed_at = claimed_at
        self._began = time.monotonic()
        self._ended = False
        self._away_in_a_row = 0
        self._lock = Lock()

    def end(self) -> None:
        """Begin no further message."""
        self._ended = True

    def carry(self, run: Sequence[Outgoing]) -> None:
        """Send the messages of one key until one is not taken; puts one result for each."""
        goes_on = True
        for message in run:
            goes_on = goes_on and not self._ended
            error = self._publish(message) if goes_on else None
            self.results.put(Result(message, sent=goes_on, error=error))
            goes_on = goes_on and error is None

    def _publish(self, message: Outgoing) -> PublishError | None:
        at = self._claimed_at + timedelta(seconds=time.monotonic() - self._began)
        error = self._send(message, at)
        with self._lock:
            if isinstance(error, SinkAwayError):
                self._away_in_a_row += 1
            elif error is None:
                self._away_in_a_row = 0
            self._ended = self._ended or self._away_in_a_row >= AWAY_IN_A_ROW
        return error


def publish(database: Database, batch: Batch, *, send: Send, submit: Submit, stop: Stop) -> Tally:
    """Send the messages and record what became of each; whatever happens, nothing is left running."""
    assert_outside_transaction()
    until = time.monotonic() + SECONDS
    lanes = Lanes(send, claimed_at=batch.claim.claimed_at)
    running = [submit(lambda run=run: lanes.carry(run)) for run in batch.runs]  # type: ignore[misc]
    waiting, unsent = len(batch.claim.messages), []
    try:
        while waiting:
            came = _come(lanes.results)
            waiting -= len(came)
            unsent += [result.message for result in came if not result.sent]
            _record(database, batch, [result for result in came if result.sent])
            if stop() or time.monotonic() > until:
                lanes.end()
    finally:
        lanes.end()
        wait(running)
    _finish(database, batch, unsent)
    return batch.tally


def _come(results: "SimpleQueue[Result]") -> list[Result]:
    """What is there, after waiting a moment for the first."""
    came: list[Result] = []
    try:
        came.append(results.get(timeout=LOOK_SECONDS))
        while True:
            came.append(results.get_nowait())
    except Empty:
        return came


def _record(database: Database, batch: Batch, results: Iterable[Result]) -> None:
    """Mark what was taken or failed for its own sake; a success clears the sink of the failures before it."""
    taken: list[int] = []
    failed: list[tuple[Outgoing, PublishError]] = []
    for result in results:
        if isinstance(result.error, SinkAwayError):
            batch.streak.append((result.message, result.error))
        elif result.error is not None:
            failed.append((result.message, result.error))
        else:
            taken.append(result.message.number)
            failed += batch.streak
            batch.streak.clear()
    if taken or failed:
        batch.tally += transact(database, lambda session: _mark(session, batch, taken, failed))


def _mark(
    session: Session, batch: Batch, taken: Collection[int], failed: Iterable[tuple[Outgoing, PublishError]]
) -> Tally:
    token = batch.claim.token
    tally = Tally(published=outbox_claims.mark_published(session, token=token, numbers=list(taken)))
    for message, error in failed:
        if isinstance(error, MessageRefusedError):
            tally.dead += outbox_claims.mark_dead(session, token=token, number=message.number, reason=error.reason)
            continue
        state = outbox_claims.mark_failed(
            session, token=token, message=message, reason=error.reason, max_claims=batch.max_claims, jitter=_jitter()
        )
        tally.dead += state is MessageState.DEAD
        tally.failed += state is MessageState.PENDING
    answered = bool(taken) or any(isinstance(error, MessageRefusedError) for _, error in failed)
    if answered and batch.was_away:
        outbox_sinks.came_back(session, batch.sink)
        batch.was_away = False
    return tally


def _finish(database: Database, batch: Batch, unsent: Collection[Outgoing]) -> None:
    if batch.streak and not batch.is_away:
        batch.tally += transact(database, lambda session: _mark(session, batch, (), batch.streak))
        batch.streak.clear()
    if unsent or batch.streak:
        batch.tally.released += transact(database, lambda session: _give_back(session, batch, unsent))


def _give_back(session: Session, batch: Batch, unsent: Iterable[Outgoing]) -> int:
    numbers = [message.number for message in unsent] + [message.number for message, _ in batch.streak]
    released = outbox_claims.release(session, token=batch.claim.token, numbers=numbers)
    if batch.streak:
        last = batch.streak[-1][1]
        outbox_sinks.went_away(
            session,
            batch.sink,
            reason=last.reason,
            retry_after=last.retry_after,
            now=clock(session),
            jitter=_jitter(),
        )
    return released


def _jitter() -> float:
    return random.random()  # noqa: S311 - spreads retries, no secret
