"""Faults 15 to 18 and 32 where they meet the outbox: relays that are killed, told to stop, or given poison."""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import func, select, update

from dashboard.db import Database, clock, reading, transact
from dashboard.domain.permissions import Scope
from dashboard.models import OutboxMessage
from dashboard.queries import outbox as queries
from dashboard.queries.keyset import Position
from dashboard.services import audit
from dashboard.services.relay import Relay
from tests import factories
from tests.receivers import SECRET, SECRET_ENV, Delivery, Receiver, webhook_receiver

MAX_CLAIMS = 3
START_SECONDS = 60
EVERYTHING = (Scope(None, None),)

StartRelay = Callable[[], "subprocess.Popen[bytes]"]


@pytest.fixture
def receiver(monkeypatch: pytest.MonkeyPatch) -> Iterator[Receiver]:
    monkeypatch.setenv(SECRET_ENV, SECRET)
    with webhook_receiver() as receiver:
        yield receiver


@pytest.fixture
def start_relay(database: Database, receiver: Receiver, tmp_path: Path) -> Iterator[StartRelay]:
    """Start `dashboard relay --once` in a process of its own."""
    policies = tmp_path / "policies.toml"
    policies.write_text(receiver.policy(max_claims=MAX_CLAIMS))
    environment = {
        **os.environ,
        "DASHBOARD_DATABASE_URL": database.url.render_as_string(hide_password=False),
        "DASHBOARD_POLICIES": str(policies),
    }
    command = [sys.executable, "-m", "dashboard", "relay", "--once", "--lanes", "1"]
    started: list[subprocess.Popen[bytes]] = []

    def start() -> "subprocess.Popen[bytes]":
        started.append(subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT))
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.communicate()


def add(database: Database, *keys: str) -> list[str]:
    """One message a key, in one transaction."""
    return transact(
        database, lambda session: [factories.message(session, aggregate_key=key).message_id for key in keys]
    )


def states(database: Database) -> Mapping[str, str]:
    with reading(database) as session:
        assert audit.verify(session).intact
        rows = session.execute(select(OutboxMessage.message_id, OutboxMessage.state).order_by(OutboxMessage.id))
        return {row.message_id: row.state for row in rows}


def rest_is_recorded(database: Database, receiver: Receiver) -> None:
    """Wait until what the receiver took is marked, so that a kill falls behind it."""
    until = time.monotonic() + START_SECONDS
    while time.monotonic() < until:
        with reading(database) as session:
            count = session.scalar(select(func.count()).where(OutboxMessage.state == "published"))
        if count == len(receiver.taken):
            return
        time.sleep(0.02)
    raise TimeoutError("what was taken was not marked")


def leases_end(database: Database) -> None:
    def unit(session: object) -> None:
        past = clock(session) - timedelta(seconds=1)  # type: ignore[arg-type]
        held = update(OutboxMessage).where(OutboxMessage.lease_until.is_not(None))
        session.execute(held.values(lease_until=past))  # type: ignore[attr-defined]

    transact(database, unit)


def drain(database: Database, receiver: Receiver) -> None:
    with Relay() as relay:
        while relay.run_once(database, sinks={"hook": receiver.sink(max_claims=MAX_CLAIMS)}):
            pass


def test_15_a_crash_between_publish_and_mark_sends_the_same_id_again(
    database: Database, receiver: Receiver, start_relay: StartRelay
) -> None:
    (message_id,) = add(database, "order-452")

    def take_and_kill(_delivery: Delivery) -> int:
        process.kill()
        return 204

    receiver.answer = take_and_kill
    process = start_relay()
    process.wait(START_SECONDS)
    assert states(database) == {message_id: "pending"}

    receiver.answer = lambda _delivery: 204
    drain(database, receiver)
    assert receiver.times == {message_id: 1}
    leases_end(database)
    drain(database, receiver)
    assert receiver.times == {message_id: 2}
    assert states(database) == {message_id: "published"}


def test_16_of_a_batch_that_was_half_published_only_the_rest_is_sent_again(
    database: Database, receiver: Receiver, start_relay: StartRelay
) -> None:
    ids = add(database, *(f"order-{number}" for number in range(10)))

    def kill_at_the_sixth(_delivery: Delivery) -> int:
        if len(receiver.taken) == 5:
            rest_is_recorded(database, receiver)
            process.kill()
            return 500
        return 204

    receiver.answer = kill_at_the_sixth
    process = start_relay()
    process.wait(START_SECONDS)
    assert sorted(states(database).values()) == ["pending"] * 5 + ["published"] * 5

    receiver.answer = lambda _delivery: 204
    leases_end(database)
    drain(database, receiver)
    assert receiver.times == dict.fromkeys(ids, 1)
    assert set(states(database).values()) == {"published"}


def test_17_a_message_that_kills_the_relay_dies_and_the_rest_flows(
    database: Database, receiver: Receiver, start_relay: StartRelay
) -> None:
    ids = add(database, "a", "b", "poison", "c", "d")
    poison = ids[2]

    def kill(delivery: Delivery) -> int:
        if delivery.message_id != poison:
            return 204
        rest_is_recorded(database, receiver)
        process.kill()
        return 500

    receiver.answer = kill
    for _ in range(MAX_CLAIMS):
        process = start_relay()
        process.wait(START_SECONDS)
        assert process.returncode == -9
        leases_end(database)
    process = start_relay()
    assert process.wait(START_SECONDS) == 0

    assert receiver.times == {message_id: 1 for message_id in ids if message_id != poison}
    assert [delivery.message_id for delivery in receiver.deliveries].count(poison) == MAX_CLAIMS
    assert states(database) == {**dict.fromkeys(ids, "published"), poison: "dead"}


def test_18_a_permanent_error_blocks_its_key_in_sight_and_no_other(database: Database, receiver: Receiver) -> None:
    ids = add(database, "bad", "bad", "good", "good")
    receiver.answer = lambda delivery: 422 if delivery.event["subject"] == "bad" else 204
    drain(database, receiver)
    assert receiver.times == {ids[2]: 1, ids[3]: 1}
    assert list(states(database).values()) == ["dead", "pending", "published", "published"]
    with reading(database) as session:
        shown = queries.list_messages(
            session, queries.MessageFilter("dead"), scopes=EVERYTHING, position=Position(), oldest_first=False
        )
    assert [(row.message_id, row.behind) for row in shown.rows] == [(ids[0], 1)]


def test_32_told_to_stop_a_relay_finishes_or_gives_back_what_it_holds(
    database: Database, receiver: Receiver, start_relay: StartRelay
) -> None:
    ids = add(database, *(f"order-{number}" for number in range(20)))

    def slow(_delivery: Delivery) -> int:
        if len(receiver.taken) == 3:
            process.terminate()
            time.sleep(0.5)
        return 204

    receiver.answer = slow
    process = start_relay()
    assert process.wait(START_SECONDS) == 143
    rest_is_recorded(database, receiver)
    with reading(database) as session:
        left = session.execute(
            select(OutboxMessage.claims, OutboxMessage.lease_token).where(OutboxMessage.state == "pending")
        )
        assert set(map(tuple, left)) == {(0, None)}
    receiver.answer = lambda _delivery: 204
    drain(database, receiver)
    assert receiver.times == dict.fromkeys(ids, 1)
    assert set(states(database).values()) == {"published"}
