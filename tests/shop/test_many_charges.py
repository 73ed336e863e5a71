"""The judge: a payment provider that makes a charge of every request, and workers that are killed all the time."""

import os
from collections import Counter
from random import Random

import pytest

from examples.shop import payments
from tests.shop.conftest import Shop, charged

pytestmark = pytest.mark.shop
# All of it on the engine that most will run; the others get a shorter run for the time it takes.
CHARGES = {"postgresql": 500, "mariadb": 100, "sqlite": 100}
CUSTOMERS = 25
KILLS = 8
SEED = 20


def test_nobody_is_charged_twice_and_nobody_is_forgotten(shop: Shop, engine_name: str) -> None:
    charges = int(os.environ.get("SHOP_CHARGES", CHARGES[engine_name]))
    random = Random(SEED)  # noqa: S311 - chance, no secret
    shop.wire.loses = lambda: random.choices(("", "answer", "request"), weights=(85, 10, 5))[0]
    customers = [payments.new_customer() for _ in range(CUSTOMERS)]
    for number in range(charges):
        shop.place(str(number), customer=customers[number % CUSTOMERS])

    for _ in range(KILLS):
        with shop.work("--concurrency", "4") as process:
            shop.wire.wait_for(random.randrange(5, charges // KILLS), patience=20)
            process.kill()
        shop.leases_end()
    shop.work_until_quiet()

    states = shop.states()
    counted = sum((charged(customer) for customer in customers), start=Counter[str]())
    assert len(states) == charges
    assert set(states.values()) <= {"confirmed", "manual_review"}
    assert max(counted.values()) == 1
    assert {name for name, state in states.items() if state == "confirmed"} <= set(counted)
    assert (len(counted), set(states.values())) == (charges, {"confirmed"})
