from collections.abc import Callable

from tests.faults.conftest import Shop


def test_a_timeout_after_sending_is_never_sent_again(shop: Shop, misbehave: Callable[[str], None]) -> None:
    """Fault 7: the answer is lost, the effect is there."""
    shop.register()
    misbehave("lose the answer")
    shop.send()
    shop.wait()
    shop.send()
    assert shop.facts() == (1, "awaiting_confirmation")
    assert (shop.row().cause, shop.row().attempts) == ("sent_unknown", 1)
    shop.reconcile()
    assert shop.facts() == (1, "confirmed")
    assert shop.row().remote_id == "ch_op-1"
