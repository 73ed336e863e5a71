from collections.abc import Callable

from tests.faults.conftest import Shop


def test_a_refused_connection_is_tried_again_later(shop: Shop, misbehave: Callable[[str], None]) -> None:
    """Fault 8."""
    shop.register()
    misbehave("refuse")
    shop.send()
    row = shop.row()
    assert (row.state, row.cause, row.attempts) == ("retry_scheduled", "not_sent", 1)
    assert row.next_attempt_at is not None
    assert row.lease_token is None
    misbehave("")
    shop.wait()
    shop.send()
    assert shop.facts() == (1, "confirmed")


def test_a_person_decides_once_the_attempts_are_used_up(shop: Shop, misbehave: Callable[[str], None]) -> None:
    shop.register()
    misbehave("refuse")
    for _ in range(3):
        shop.send()
        shop.wait()
    assert shop.facts() == (0, "manual_review")
    assert (shop.row().attempts, shop.row().next_attempt_at) == (3, None)
    shop.send()
    assert shop.row().attempts == 3
