"""The times from sending to confirmation, as the events tell them."""

from datetime import datetime, timedelta
from typing import Any

import sqlalchemy as sa

from dashboard.db import Database, reading, transaction
from dashboard.domain.permissions import Scope
from dashboard.domain.survival import Duration
from dashboard.queries.window_advice import DAYS, durations, statement
from tests import factories
from tests.factories import NOW

EVERYTHING = (Scope(None, None),)
MINUTE = timedelta(minutes=1)
CLAIMED = ("transition", "pending", "processing")
SENT = ("transition", "processing", "awaiting_confirmation")


def add(database: Database, *happened: tuple[datetime, tuple[str, str | None, str | None]], **values: Any) -> None:
    with transaction(database) as session:
        row = factories.operation(session, **values)
        for seq, (at, (kind, source, target)) in enumerate(happened, 1):
            factories.event(session, row, seq=seq, at=at, kind=kind, from_state=source, to_state=target, evidence=None)


def measured(database: Database, *scopes: Scope, now: datetime = NOW) -> list[Duration]:
    with reading(database) as session:
        return durations(session, "charge_order", scopes=scopes or EVERYTHING, now=now)


def test_an_answer_that_came_later_counts_from_the_sending(database: Database) -> None:
    at = NOW - timedelta(hours=1)
    add(
        database,
        (at, CLAIMED),
        (at + MINUTE, SENT),
        (at + 5 * MINUTE, ("transition", "awaiting_confirmation", "confirmed")),
        state="confirmed",
        confirmed_at=at + 5 * MINUTE,
    )
    assert measured(database) == [Duration(4 * MINUTE)]


def test_an_answer_that_came_at_once_counts_from_the_claim(database: Database) -> None:
    at = NOW - timedelta(hours=1)
    add(
        database,
        (at, CLAIMED),
        (at + MINUTE, ("transition", "processing", "confirmed")),
        state="confirmed",
        confirmed_at=at + MINUTE,
    )
    assert measured(database) == [Duration(MINUTE)]


def test_a_second_sending_counts_from_itself(database: Database) -> None:
    at = NOW - timedelta(hours=1)
    add(
        database,
        (at, SENT),
        (at + 20 * MINUTE, ("attempt", None, None)),
        state="confirmed",
        confirmed_at=at + 21 * MINUTE,
    )
    assert measured(database) == [Duration(MINUTE)]


def test_what_waits_is_censored_now_and_what_was_given_up_when_it_was(database: Database) -> None:
    at = NOW - timedelta(hours=1)
    add(database, (at, SENT), state="awaiting_confirmation")
    add(database, (at, SENT), state="manual_review", state_since=at + 10 * MINUTE)
    assert sorted(each.length for each in measured(database)) == [10 * MINUTE, 60 * MINUTE]
    assert all(each.censored for each in measured(database))


def test_what_was_never_sent_or_is_old_or_of_others_is_left_out(database: Database) -> None:
    add(database, state="pending")
    add(database, (NOW, SENT), state="awaiting_confirmation", created_at=NOW - DAYS - MINUTE)
    add(database, (NOW, SENT), state="awaiting_confirmation", type="sync_customer")
    add(database, (NOW, SENT), state="awaiting_confirmation", tenant="loja-br")
    assert measured(database, Scope("tienda-es", None)) == []
    assert len(measured(database)) == 1


def test_the_newest_are_read_through_the_index_of_the_type(sqlite_database: Database) -> None:
    asked = statement("charge_order", scopes=EVERYTHING, since=NOW - DAYS)
    text = str(asked.compile(sqlite_database.engine, compile_kwargs={"literal_binds": True}))
    with sqlite_database.engine.connect() as connection:
        plan = [row.detail for row in connection.execute(sa.text(f"EXPLAIN QUERY PLAN {text}"))]
    read = [step for step in plan if "operation" in step]
    assert read[0].startswith("SEARCH operations USING INDEX ix_operations_type (type=? AND created_at>?)")
    assert "(operation_id=?)" in read[1]
