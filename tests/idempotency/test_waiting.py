"""A caller who asks to wait gets the answer if it comes in time, and no transaction is open meanwhile."""

import threading
from datetime import timedelta
from typing import Any

import pytest

from dashboard.db import Database, InsideTransactionError, transaction
from dashboard.idempotency.door import wait_of
from tests.idempotency.conftest import Door
from tests.idempotency.host import ORDER, Shop
from tests.services.reserving import record

KEY = {"Idempotency-Key": "k-1"}


@pytest.mark.parametrize(
    ("prefer", "seconds"),
    [
        ("wait=5", 5),
        ("respond-async, wait=10", 10),
        ('WAIT="3"', 3),
        ("wait=soon", None),
        ("await=5", None),
        (None, None),
    ],
)
def test_the_preference_is_read_from_its_header(prefer: str | None, seconds: int | None) -> None:
    assert wait_of(prefer) == (None if seconds is None else timedelta(seconds=seconds))


def second_request(door: Door, shop: Shop, *, finish: bool) -> Any:
    """What a second request with `Prefer: wait` gets while the first is at work, which may finish meanwhile."""
    started, go = threading.Event(), threading.Event()

    def work() -> dict[str, bool]:
        started.set()
        go.wait(20)
        return {"ok": True}

    shop.behaviour = work
    first = threading.Thread(target=lambda: door(shop).post("/charges/1", json=ORDER, headers=KEY))
    first.start()
    started.wait(20)
    if finish:
        threading.Timer(0.2, go.set).start()
    answer = door(shop).post("/charges/1", json=ORDER, headers={**KEY, "Prefer": "wait=15"})
    go.set()
    first.join()
    return answer


def test_the_answer_comes_while_the_caller_waits(door: Door, sqlite_database: Database) -> None:
    answer = second_request(door, Shop(sqlite_database), finish=True)
    assert (answer.status_code, answer.json) == (200, {"ok": True})
    assert answer.headers["Idempotent-Replayed"] == "true"
    assert record(sqlite_database).replay_count == 1


def test_the_wait_has_an_end(door: Door, sqlite_database: Database) -> None:
    shop = Shop(sqlite_database, longest_wait=timedelta(seconds=0.3))
    assert second_request(door, shop, finish=False).status_code == 202


def test_nobody_waits_inside_a_transaction(sqlite_database: Database) -> None:
    door = Shop(sqlite_database).door
    request = door.request(tenant="shop", operation="charge_order", key="k-1", payload=ORDER)
    door.reserve(request)
    found = door.reserve(request)
    with pytest.raises(InsideTransactionError), transaction(sqlite_database):
        door.wait(request, found, longest=timedelta(seconds=5))
