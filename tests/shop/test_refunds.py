import pytest

from dashboard.db import transact
from examples.shop import orders, payments
from tests.shop.conftest import Shop

pytestmark = [pytest.mark.shop, pytest.mark.parametrize("engine_name", ["sqlite"], indirect=True)]


def test_a_refund_whose_answer_is_lost_is_found_and_not_repeated(shop: Shop) -> None:
    customer = payments.new_customer()
    shop.place("1", customer=customer)
    shop.work_until_quiet()
    shop.wire.loses = lambda: "answer"
    transact(shop.database, lambda session: orders.refund(session, "1"))
    shop.work_until_quiet()
    (charge,) = payments.charges_of(customer, "charge-1")
    assert shop.states() == {"charge-1": "confirmed", "refund-1": "confirmed"}
    assert charge.amount_refunded == charge.amount == 1990


def test_a_refund_of_nothing_goes_to_a_person(shop: Shop) -> None:
    customer = payments.new_customer()
    shop.place("1", customer=customer)
    shop.work_until_quiet()
    payments.client().v1.refunds.create(params={"charge": payments.charges_of(customer, "charge-1")[0].id})
    transact(shop.database, lambda session: orders.refund(session, "1"))
    shop.work_until_quiet()
    assert shop.states()["refund-1"] == "manual_review"
