"""The relay: the oldest of each key, once, in order; a blocked key stops no other, and an outage no message."""

import time
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from threading import Thread
from typing import Any

import pytest
from sqlalchemy import select, update

from dashboard.db import Database, clock, reading, transact
from dashboard.domain.policy import Sink
from dashboard.models import AwaySink, OutboxMessage
from dashboard.services.relay import LANES, Relay
from dashboard.services.relay_batch import AWAY_IN_A_ROW, Tally
from tests import factories
from tests.receivers import SECRET, SECRET_ENV, Delivery, Receiver, webhook_receiver

FUTURE = datetime(2999, 1, 1, tzinfo=UTC)
HELD = {"lease_until": FUTURE, "claims": 1}


@pytest.fixture
def receiver(monkeypatch: pytest.MonkeyPatch) -> Iterator[Receiver]:
    monkeypatch.setenv(SECRET_ENV, SECRET)
    with webhook_receiver() as receiver:
        yield receiver


@pytest.fixture
def relay() -> Iterator[Relay]:
    with Relay() as relay:
        yield relay


def add(database: Database, count: int = 1, **values: Any) -> list[str]:
    """Messages in one transaction; their `n` is their place."""

    def unit(session: Any) -> list[str]:
        return [factories.message(session, n=place, **values).message_id for place in range(count)]

    return transact(database, unit)


def rows(database: Database) -> Mapping[str, OutboxMessage]:
    with reading(database) as session:
        return {row.message_id: row for row in session.scalars(select(OutboxMessage))}


def states(database: Database) -> list[str]:
    return [row.state for row in sorted(rows(database).values(), key=lambda row: row.id)]


def drain(relay: Relay, database: Database, sink: Sink) -> Tally:
    """Rounds until nothing more can be done at once."""
    total = Tally()
    while tally := relay.run_once(database, sinks={sink.name: sink}):
        total += tally
    total += tally
    return total


def due_now(database: Database) -> None:
    """Let the waiting times and leases of all messages and sinks pass."""

    def unit(session: Any) -> None:
        past = clock(session) - timedelta(seconds=1)
        session.execute(update(OutboxMessage).values(next_attempt_at=past))
        session.execute(update(OutboxMessage).where(OutboxMessage.lease_until.is_not(None)).values(lease_until=past))
        session.execute(update(AwaySink).values(retry_at=past))

    transact(database, unit)


def test_each_message_is_published_once_and_marked(database: Database, relay: Relay, receiver: Receiver) -> None:
    ids = add(database, 250)
    assert drain(relay, database, receiver.sink()).published == 250
    assert receiver.times == dict.fromkeys(ids, 1)
    row = rows(database)[ids[0]]
    assert (row.state, row.claims, row.lease_token, row.published_at is not None) == ("published", 1, None, True)


def test_a_key_goes_out_in_the_order_of_its_writing(database: Database, relay: Relay, receiver: Receiver) -> None:
    add(database, 12, aggregate_key="order-452")
    drain(relay, database, receiver.sink())
    assert receiver.places() == list(range(12))


def test_a_run_of_one_key_goes_out_in_one_claim(database: Database, relay: Relay, receiver: Receiver) -> None:
    add(database, 12, aggregate_key="order-452")
    add(database, 3, aggregate_key="order-453")
    assert relay.run_once(database, sinks={"hook": receiver.sink()}).published == 15
    assert receiver.places("order-452") == list(range(12))


def test_a_run_ends_before_what_is_not_due_dead_or_another_relays(
    database: Database, relay: Relay, receiver: Receiver
) -> None:
    later = {"next_attempt_at": FUTURE}
    for key, stands in (("later", later), ("dead", {"state": "dead"}), ("held", {"lease_token": "x", **HELD})):
        add(database, 2, aggregate_key=key)
        add(database, 1, aggregate_key=key, **stands)
        add(database, 2, aggregate_key=key)
    assert relay.run_once(database, sinks={"hook": receiver.sink()}).published == 6
    assert not relay.run_once(database, sinks={"hook": receiver.sink()})


def test_a_run_stops_at_the_first_that_is_not_taken(database: Database, relay: Relay, receiver: Receiver) -> None:
    add(database, 6, aggregate_key="order-452")
    receiver.answer = lambda delivery: 500 if delivery.event["data"]["n"] == 2 else 204
    tally = relay.run_once(database, sinks={"hook": receiver.sink()})
    assert (tally.published, tally.failed, tally.released) == (2, 1, 3)
    assert [row.claims for row in sorted(rows(database).values(), key=lambda row: row.id)] == [1, 1, 1, 0, 0, 0]
    assert len(receiver.deliveries) == 3


def test_a_dead_head_blocks_its_key_and_no_other(database: Database, relay: Relay, receiver: Receiver) -> None:
    receiver.answer = lambda delivery: 410 if delivery.event["subject"] == "bad" else 204
    add(database, 3, aggregate_key="bad")
    add(database, 3, aggregate_key="good")
    drain(relay, database, receiver.sink())
    assert states(database) == ["dead", "pending", "pending", *["published"] * 3]
    assert len(receiver.deliveries) == 4


def test_many_blocked_keys_do_not_hide_a_live_one(
    database: Database, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dashboard.services.outbox_claims.KEYS_A_STEP", 4)
    monkeypatch.setattr("dashboard.services.outbox_claims.KEYS_A_CLAIM", 8)
    for number in range(30):
        add(database, 1, aggregate_key=f"a-{number:02}", state="dead")
        add(database, 2, aggregate_key=f"a-{number:02}")
    (live,) = add(database, 1, aggregate_key="z")
    with Relay() as relay:
        for _ in range(8):
            relay.run_once(database, sinks={"hook": receiver.sink()})
    assert receiver.taken == [live]


def test_a_failure_is_tried_again_later_and_dead_when_its_claims_are_used_up(
    database: Database, relay: Relay, receiver: Receiver
) -> None:
    receiver.answer = lambda delivery: 500 if delivery.event["subject"] == "bad" else 204
    (bad,) = add(database, 1, aggregate_key="bad")
    for round_ in (1, 2, 3):
        add(database, 1, aggregate_key=f"good-{round_}")
        drain(relay, database, receiver.sink())
        assert rows(database)[bad].claims == round_
        due_now(database)
    row = rows(database)[bad]
    assert (row.state, row.last_error) == ("dead", "it answered 500 Internal Server Error")


@pytest.mark.parametrize("status", [429, 503])
def test_a_sink_that_is_away_costs_no_message_a_claim(
    database: Database, relay: Relay, receiver: Receiver, status: int
) -> None:
    ids = add(database, 40)
    receiver.answer = lambda _delivery: (status, {"Retry-After": "600"})
    for _ in range(20):
        relay.run_once(database, sinks={"hook": receiver.sink()})
    # The third in a row ends the claim; the other lanes may have one each on its way by then.
    assert len(receiver.deliveries) <= AWAY_IN_A_ROW + LANES - 1
    assert {(row.state, row.claims, row.lease_token) for row in rows(database).values()} == {("pending", 0, None)}
    with reading(database) as session:
        away = session.scalars(select(AwaySink)).one()
        assert (away.failures, away.retry_at > clock(session) + timedelta(seconds=590)) == (1, True)

    due_now(database)
    receiver.deliveries.clear()
    relay.run_once(database, sinks={"hook": receiver.sink()})
    assert len(receiver.deliveries) == 1

    receiver.answer = lambda _delivery: 204
    due_now(database)
    assert drain(relay, database, receiver.sink()).published == 40
    assert receiver.times == dict.fromkeys(ids, 1)
    with reading(database) as session:
        assert session.scalars(select(AwaySink)).all() == []


def test_a_sink_that_refuses_what_it_is_offered_is_no_longer_away(
    database: Database, relay: Relay, receiver: Receiver
) -> None:
    add(database, 1)
    receiver.answer = lambda _delivery: 503
    for _ in range(AWAY_IN_A_ROW):
        relay.run_once(database, sinks={"hook": receiver.sink()})
        due_now(database)
    with reading(database) as session:
        assert session.scalars(select(AwaySink)).all() != []
    receiver.answer = lambda _delivery: 400
    drain(relay, database, receiver.sink())
    assert states(database) == ["dead"]
    with reading(database) as session:
        assert session.scalars(select(AwaySink)).all() == []


def test_one_message_that_is_refused_as_if_the_sink_were_away_does_not_hold_up_the_rest(
    database: Database, relay: Relay, receiver: Receiver
) -> None:
    receiver.answer = lambda delivery: 503 if delivery.event["subject"] == "bad" else 204
    add(database, 1, aggregate_key="bad")
    add(database, 20)
    drain(relay, database, receiver.sink())
    assert states(database) == ["pending", *["published"] * 20]


def test_several_relays_publish_each_message_once(database: Database, receiver: Receiver) -> None:
    ids = add(database, 120)

    def work() -> None:
        with Relay(lanes=2) as relay:
            drain(relay, database, receiver.sink())

    threads = [Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with Relay() as relay:
        drain(relay, database, receiver.sink())
    assert receiver.times == dict.fromkeys(ids, 1)


def test_no_transaction_is_open_while_a_message_is_sent(
    sqlite_database: Database, relay: Relay, receiver: Receiver
) -> None:
    database, open_connections = sqlite_database, []

    def answer(_delivery: Delivery) -> int:
        open_connections.append(database.engine.pool.checkedout())  # type: ignore[attr-defined]
        return 204

    receiver.answer = answer
    add(database, 1)
    drain(relay, database, receiver.sink())
    assert open_connections == [0]


def test_told_to_stop_it_gives_back_what_it_has_not_begun(database: Database, relay: Relay, receiver: Receiver) -> None:
    def slow(_delivery: Delivery) -> int:
        time.sleep(0.05)
        return 204

    receiver.answer = slow
    add(database, 50)
    relay.run_once(database, sinks={"hook": receiver.sink()}, stop=lambda: len(receiver.deliveries) >= 5)
    found = rows(database).values()
    assert {(row.state, row.claims, row.lease_token) for row in found} == {
        ("published", 1, None),
        ("pending", 0, None),
    }


def test_messages_of_a_table_sink_and_of_an_unknown_one_stay(database: Database, relay: Relay) -> None:
    add(database, 2, sink="polled")
    add(database, 2, sink="nowhere")
    assert not relay.run_once(database, sinks={"polled": Sink("polled", "table", {})})
    assert states(database) == ["pending"] * 4
