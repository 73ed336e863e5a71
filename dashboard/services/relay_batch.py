"""Publishing what one claim holds: side by side, each marked as soon as it was taken, the rest given back."""

import random
import time
from collections.abc import Callable, Collection, Iterable
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass, field
from datetime import datetime
from typing import Self

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

Stop = Callable[[], bool]
Send = Callable[[Outgoing, datetime], Future[PublishError | None]]
Result = tuple[Outgoing, PublishError | None]


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


def publish(database: Database, batch: Batch, *, send: Send, stop: Stop) -> Tally:
    """Send the messages and record what became of each; whatever happens, nothing is left running."""
    assert_outside_transaction()
    until = time.monotonic() + SECONDS
    futures = {send(message, batch.claim.claimed_at): message for message in batch.claim.messages}
    cancelled: list[Outgoing] = []
    try:
        while futures:
            done, _ = wait(futures, timeout=LOOK_SECONDS, return_when=FIRST_COMPLETED)
            results = [(futures.pop(future), future.result()) for future in done]
            _record(database, batch, results)
            if stop() or time.monotonic() > until or len(batch.streak) >= AWAY_IN_A_ROW:
                cancelled += [futures.pop(future) for future in list(futures) if future.cancel()]
    finally:
        running = [future for future in futures if not future.cancel()]
        wait(running)
    _finish(database, batch, cancelled)
    return batch.tally


def _record(database: Database, batch: Batch, results: Iterable[Result]) -> None:
    """Mark what was taken or failed for its own sake; a success clears the sink of the failures before it."""
    taken: list[int] = []
    failed: list[tuple[Outgoing, PublishError]] = []
    for message, error in results:
        if isinstance(error, SinkAwayError):
            batch.streak.append((message, error))
        elif error is not None:
            failed.append((message, error))
        else:
            taken.append(message.number)
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
    if taken and batch.was_away:
        outbox_sinks.came_back(session, batch.sink)
        batch.was_away = False
    return tally


def _finish(database: Database, batch: Batch, cancelled: Collection[Outgoing]) -> None:
    if batch.streak and not batch.is_away:
        batch.tally += transact(database, lambda session: _mark(session, batch, (), batch.streak))
        batch.streak.clear()
    if cancelled or batch.streak:
        batch.tally.released += transact(database, lambda session: _give_back(session, batch, cancelled))


def _give_back(session: Session, batch: Batch, cancelled: Iterable[Outgoing]) -> int:
    numbers = [message.number for message in cancelled] + [message.number for message, _ in batch.streak]
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
