import signal

import pytest

from examples.shop import payments
from tests.shop.conftest import Shop, charged

pytestmark = [pytest.mark.shop, pytest.mark.parametrize("engine_name", ["sqlite"], indirect=True)]
DYING = "tests.shop.dying"


@pytest.mark.parametrize(("step", "registered"), [("before register", 0), ("after register", 1)])
def test_a_kill_while_registering_leaves_all_or_nothing(shop: Shop, step: str, registered: int) -> None:
    customer = payments.new_customer()
    url = shop.database.url.render_as_string(hide_password=False)
    with shop.start(DYING, url, "1", customer, DIE_AT=step) as process:
        assert process.wait(60) == -signal.SIGKILL
    assert shop.under_way() == registered
    shop.work_until_quiet()
    assert charged(customer).total() == registered


@pytest.mark.parametrize("step", ["after claim", "before send", "after send", "before record"])
def test_a_kill_while_sending_leaves_one_charge_in_the_end(shop: Shop, step: str) -> None:
    customer = payments.new_customer()
    shop.place("1", customer=customer)
    with shop.work(handlers=DYING, DIE_AT=step) as process:
        assert process.wait(60) == -signal.SIGKILL
    done = step in {"after send", "before record"}
    assert (shop.states(), charged(customer).total()) == ({"charge-1": "processing"}, int(done))
    shop.leases_end()
    shop.work_until_quiet()
    assert shop.states() == {"charge-1": "confirmed"}
    assert charged(customer) == {"charge-1": 1}
    again = [] if done else ["retry_scheduled", "processing"]
    assert shop.path("charge-1") == ["pending", "processing", "awaiting_confirmation", *again, "confirmed"]
