"""A worker in PHP registers, claims, sends and records, and what it leaves in doubt is asked for and not sent again."""

from datetime import timedelta

import pytest
from sqlalchemy import select
from sqlalchemy.orm import Session

from dashboard.db import clock, reading, transact
from dashboard.domain.policy import Policies
from dashboard.ledger import worker_actor
from dashboard.models import Operation, OperationEvent
from dashboard.services import leases
from tests.php.conftest import Shop


def path(shop: Shop) -> list[str | None]:
    with reading(shop.database) as session:
        return list(session.scalars(select(OperationEvent.to_state).order_by(OperationEvent.seq)))


def test_an_order_is_registered_once_and_charged_once(shop: Shop) -> None:
    assert shop.run("order", "452", "318.93") == {"new": True}
    assert shop.run("order", "452", "318.93") == {"new": False}
    workers = [shop.start("work") for _ in range(8)]
    for worker in workers:
        _out, err = worker.communicate(timeout=60)
        assert worker.returncode == 0, err
    assert shop.charges() == ["452 318.93 charge-452"]
    assert path(shop) == ["pending", "processing", "confirmed"]
    with reading(shop.database) as session:
        row = session.scalars(select(Operation)).one()
        assert (row.remote_id, row.revision, row.attempts, row.is_open) == ("ch_452", 3, 1, None)


@pytest.mark.parametrize(
    ("misbehave", "state", "charges"),
    [("refuse", "retry_scheduled", 0), ("lose", "awaiting_confirmation", 1)],
)
def test_an_error_leads_where_its_cause_does(shop: Shop, misbehave: str, state: str, charges: int) -> None:
    shop.run("order", "452", "318.93")
    shop.run("work", misbehave=misbehave)
    shop.run("work")
    assert path(shop)[2] == state
    assert len(shop.charges()) <= 1
    assert charges <= len(shop.charges())


def test_a_worker_that_dies_after_the_charge_is_rescued_and_not_repeated(shop: Shop) -> None:
    shop.run("order", "452", "318.93")
    assert shop.run("work", misbehave="die") is None

    def unit(session: Session) -> int:
        session.scalars(select(Operation)).one().lease_until = clock(session) - timedelta(seconds=1)
        session.flush()
        return leases.rescue(session, policies=Policies(), actor=worker_actor())

    assert transact(shop.database, unit) == 1
    shop.run("work")
    assert path(shop) == ["pending", "processing", "awaiting_confirmation"]
    assert len(shop.charges()) == 1
