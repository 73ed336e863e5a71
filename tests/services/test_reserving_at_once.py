"""Many at once in transactions that hold the work as well: one does it, and nobody is turned away."""

import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

from sqlalchemy.orm import Session

from dashboard.db import Database, transact
from dashboard.domain.permissions import Actor
from dashboard.domain.policy import Policies
from dashboard.domain.reservations import Owned
from dashboard.domain.states import ActorKind
from dashboard.domain.work import NewOperation
from dashboard.services import registration, reservations
from tests.services.reserving import PAID, record, request

MANY = 40
HOST = Actor(ActorKind.API, "shop")
NEW = NewOperation("op-1", "shop", "charge_order", "order", "452", "payments", {"amount": "10.00"})


def together(database: Database, unit: Callable[[Session], str]) -> Counter[str]:
    """Run a unit of work in so many transactions at once, each on a connection of its own."""
    crowd, barrier = Database(database.url.render_as_string(hide_password=False), pool_size=MANY), Barrier(MANY)

    def run(_number: int) -> str:
        barrier.wait()
        return transact(crowd, unit)

    try:
        with ThreadPoolExecutor(MANY) as pool:
            return Counter(pool.map(run, range(MANY)))
    finally:
        crowd.dispose()


def test_work_in_one_transaction_with_its_key_is_done_once(database: Database) -> None:
    def unit(session: Session) -> str:
        found = reservations.reserve(session, request())
        if isinstance(found, Owned):
            time.sleep(0.2)
            reservations.complete(session, found, PAID)
        return type(found).__name__

    assert together(database, unit) == {"Owned": 1, "Replay": MANY - 1}
    assert record(database).replay_count == MANY - 1


def test_one_registration_that_comes_at_once_is_written_once(database: Database) -> None:
    def unit(session: Session) -> str:
        done = registration.register(session, NEW, policies=Policies(), actor=HOST)
        time.sleep(0.2 if done.new else 0)
        return "new" if done.new else "known"

    assert together(database, unit) == {"new": 1, "known": MANY - 1}
