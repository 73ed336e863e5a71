import threading

import pytest

from dashboard.ledger import OperationIdTakenError
from tests.faults.conftest import Shop


def test_a_message_delivered_three_times_has_one_effect(shop: Shop) -> None:
    """Fault 13: three consumers register what the broker gave each of them, at once."""
    registered: list[bool] = []
    threads = [threading.Thread(target=lambda: registered.append(shop.register().new)) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(registered) == [False, False, True]
    shop.send()
    assert shop.register().new is False
    shop.send()
    assert shop.facts() == (1, "confirmed")


def test_the_same_id_for_something_else_is_refused(shop: Shop) -> None:
    shop.register(amount="10.00", currency="EUR")
    with pytest.raises(OperationIdTakenError) as refused:
        shop.register(amount="99.00", currency="EUR")
    assert refused.value.details["fields"] == ("amount",)
    assert shop.row().amount == "10.00"
