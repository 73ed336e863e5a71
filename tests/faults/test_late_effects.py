"""Fault 10: the destination shows the effect late (absent, then present): no second send."""

from datetime import timedelta

from tests.reconciling import LAG, Payments


def test_what_shows_late_is_confirmed_and_not_sent_again(payments: Payments) -> None:
    payments.sent()
    payments.shows()
    payments.destination.hidden = True
    payments.reconcile()
    assert payments.facts() == (1, "awaiting_confirmation", "ambiguous")
    assert payments.found()[-1] == ("ambiguous", "first_miss", "wait", True)
    payments.destination.hidden = False
    payments.wait(LAG)
    payments.reconcile()
    assert payments.facts() == (1, "confirmed", "correct")


def test_a_view_older_than_the_lag_proves_nothing(payments: Payments) -> None:
    payments.sent(ago=timedelta(minutes=6))
    payments.reconcile()
    assert payments.facts() == (0, "awaiting_confirmation", "ambiguous")
    assert payments.found()[-1] == ("ambiguous", "view_too_old", "wait", True)


def test_two_misses_at_least_the_lag_apart_prove_absence(payments: Payments) -> None:
    payments.sent()
    payments.reconcile()
    payments.wait(LAG / 2)
    payments.reconcile(window=timedelta(0))
    assert payments.facts() == (0, "awaiting_confirmation", "ambiguous")
    payments.wait(LAG)
    payments.reconcile()
    assert payments.facts() == (0, "retry_scheduled", "absent")
    assert payments.row().next_attempt_at is not None


def test_the_second_look_comes_as_soon_as_it_can_prove_something(payments: Payments) -> None:
    payments.sent()
    payments.reconcile()
    assert payments.row().next_attempt_at is not None
    assert abs((payments.row().next_attempt_at or payments.now()) - payments.now() - LAG) < timedelta(minutes=1)


def test_a_destination_that_honours_keys_needs_one_fresh_miss(payments: Payments) -> None:
    payments.behaving(honours_idempotency_key=True)
    payments.sent()
    payments.reconcile()
    assert payments.facts() == (0, "retry_scheduled", "absent")


def test_an_effect_that_was_seen_since_the_first_miss_is_not_absent(payments: Payments) -> None:
    payments.sent()
    payments.reconcile()
    payments.shows()
    payments.destination.view_age = timedelta(hours=2)
    payments.wait(LAG)
    payments.reconcile()
    assert payments.found()[-1] == ("ambiguous", "view_too_old", "wait", True)
    payments.destination.view_age = timedelta(0)
    payments.destination.hidden = True
    payments.wait(LAG * 2)
    payments.reconcile()
    assert payments.found()[-1] == ("ambiguous", "first_miss", "wait", True)
    assert payments.facts() == (1, "awaiting_confirmation", "ambiguous")
