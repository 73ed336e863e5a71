"""That the reconciler is at work is noted, so that standstill shows."""

from datetime import datetime, timedelta

from sqlalchemy import select, update

from dashboard.db import Database, reading, transact
from dashboard.models import Heartbeat
from dashboard.services import heartbeats
from tests.reconciling import Payments

HOUR = timedelta(hours=1)


def beats(database: Database) -> list[datetime]:
    with reading(database) as session:
        return list(session.scalars(select(Heartbeat.at).order_by(Heartbeat.name)))


def test_a_pass_of_the_reconciler_is_noted_once_a_minute(database: Database) -> None:
    heartbeats.beat(database, "reconciler")
    (first,) = beats(database)
    heartbeats.beat(database, "reconciler")
    assert beats(database) == [first]
    transact(database, lambda session: session.execute(update(Heartbeat).values(at=first - HOUR)))
    heartbeats.beat(database, "reconciler")
    assert beats(database)[0] >= first


def test_a_pass_that_finds_nothing_due_is_one_all_the_same(local_payments: Payments) -> None:
    assert local_payments.reconcile() is None
    assert len(beats(local_payments.database)) == 1


def test_a_pass_over_one_type_or_one_that_is_stopped_says_nothing_of_the_rest(local_payments: Payments) -> None:
    local_payments.sent()
    local_payments.reconcile(only_type="charge_order")
    local_payments.wait(HOUR)
    local_payments.sent("op-2")
    local_payments.reconcile(stop=lambda: True)
    assert beats(local_payments.database) == []
