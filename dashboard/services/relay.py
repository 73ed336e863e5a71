"""The relay: claims outbox messages, publishes them outside any transaction, then marks them.

At least once: a crash between publishing and marking sends a message again under the same id. A round of a sink
1. claims due heads of keys and what follows them, 2. publishes the keys side by side and marks each message as soon as
it was taken, 3. gives back what was not begun, 4. takes one suspect alone: a message whose lease ran out may be what
ended the last relay.
"""

import logging
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import datetime, timedelta
from threading import get_ident
from types import TracebackType
from typing import Self

from sqlalchemy.orm import Session

from dashboard.adapters.sinks import PUBLISHERS, Publisher
from dashboard.adapters.sinks.outcomes import MessageRefusedError, NotTakenError, PublishError
from dashboard.db import Database, clock, reading, transact
from dashboard.domain.messages import DEFAULT_CLAIMS, Outgoing
from dashboard.domain.policy import Sink
from dashboard.logs import about
from dashboard.services import outbox_claims, outbox_sinks, relay_batch
from dashboard.services.outbox_claims import Claim
from dashboard.services.relay_batch import Batch, Stop, Tally

LANES = 4

log = logging.getLogger("dashboard.relay")


class Relay:
    """Publishes what is due; between rounds it keeps its threads, their connections and its place in the keys."""

    def __init__(self, *, lanes: int = LANES, lease: timedelta = outbox_claims.LEASE) -> None:
        self._lease = lease
        self._threads = ThreadPoolExecutor(lanes, thread_name_prefix="relay")
        self._publishers: dict[tuple[int, str], Publisher] = {}
        self._after: dict[str, str] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def run_once(self, database: Database, *, sinks: Mapping[str, Sink], stop: Stop = lambda: False) -> Tally:
        """Do one round of each sink that has something to publish and is not away; true if another may find more."""
        tally = Tally()
        for name in _waiting(database, sinks):
            if not stop():
                tally += self._round(database, sinks[name], stop)
        return tally

    def close(self) -> None:
        """Wait for what is being sent and close all connections."""
        self._threads.shutdown(wait=True, cancel_futures=True)
        for publisher in self._publishers.values():
            with suppress(Exception):
                publisher.close()
        self._publishers.clear()

    def _round(self, database: Database, sink: Sink, stop: Stop) -> Tally:
        batch = self._claim(database, sink)
        if batch is None:
            return Tally()
        tally = self._publish(database, sink, batch, stop)
        # While a sink is away one message asks for all, whichever kind it is.
        asked = bool(batch.claim.messages) and (batch.was_away or batch.is_away)
        if batch.claim.suspects and not asked and not stop():
            alone = self._claim(database, sink, suspect=True, was_away=batch.was_away)
            if alone is not None:
                tally += self._publish(database, sink, alone, stop)
        return tally

    def _claim(
        self, database: Database, sink: Sink, *, suspect: bool = False, was_away: bool | None = None
    ) -> Batch | None:
        claims = sink.settings.get("max_claims")
        max_claims = claims if isinstance(claims, int) else DEFAULT_CLAIMS

        def unit(session: Session) -> Batch | None:
            away = sink.name in outbox_sinks.away(session) if was_away is None else was_away
            if away and was_away is None and not outbox_sinks.may_ask(session, sink.name, now=clock(session)):
                return None
            claim = outbox_claims.claim(
                session,
                sink=sink.name,
                max_claims=max_claims,
                after=self._after.get(sink.name, ""),
                limit=1 if away else outbox_claims.AT_ONCE,
                suspect=suspect,
                lease=self._lease,
            )
            return Batch(sink.name, claim, max_claims, was_away=away)

        batch = transact(database, unit)
        if batch is not None:
            self._after[sink.name] = batch.claim.after
            _tell(sink, batch.claim)
        return batch

    def _publish(self, database: Database, sink: Sink, batch: Batch, stop: Stop) -> Tally:
        tally = relay_batch.publish(
            database,
            batch,
            send=lambda message, at: self._tell_and_send(sink, message, at=at),
            submit=self._threads.submit,
            stop=stop,
        )
        tally.dead += batch.claim.died
        return tally

    def _tell_and_send(self, sink: Sink, message: Outgoing, *, at: datetime) -> PublishError | None:
        with about(sink=sink.name, message_id=message.message_id, operation_id=message.operation_id):
            error = self._send(sink, message, at=at)
            if error is None:
                log.debug("published")
            else:
                log.warning("not published", extra={"reason": error.reason})
        return error

    def _send(self, sink: Sink, message: Outgoing, *, at: datetime) -> PublishError | None:
        """Publish on this thread's own connection; after an error that may have broken it, it is made anew."""
        place = (get_ident(), sink.name)
        try:
            if place not in self._publishers:
                self._publishers[place] = PUBLISHERS[sink.kind](sink)
            self._publishers[place].publish(message, at=at)
            return None
        except MessageRefusedError as error:
            return error
        except PublishError as error:
            failure: PublishError = error
        except Exception as error:
            log.exception("message %s could not be published", message.message_id)
            failure = NotTakenError(f"an error of the relay ({type(error).__name__})")
        publisher = self._publishers.pop(place, None)
        with suppress(Exception):
            if publisher is not None:
                publisher.close()
        return failure


def run_once(database: Database, *, sinks: Mapping[str, Sink], stop: Stop = lambda: False) -> Tally:
    """Do one round with connections of its own; who does many keeps a Relay."""
    with Relay() as relay:
        return relay.run_once(database, sinks=sinks, stop=stop)


def _waiting(database: Database, sinks: Mapping[str, Sink]) -> tuple[str, ...]:
    served = [name for name, sink in sinks.items() if sink.kind in PUBLISHERS]
    if not served:
        return ()
    with reading(database) as session:
        return outbox_claims.waiting_sinks(session, sinks=served)


def _tell(sink: Sink, claim: Claim) -> None:
    if claim.died:
        log.error(
            "sink %s: %s messages ended the relay each time they were claimed and are dead", sink.name, claim.died
        )
