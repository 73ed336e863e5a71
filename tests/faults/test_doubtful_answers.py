"""Fault 9: the probe answers 500, 401, or with two candidates: ambiguous, and no action."""

from datetime import timedelta

import pytest

from tests.destination import Planned
from tests.reconciling import Payments

HTML = Planned(200, b"<html>down for maintenance</html>", "text/html")
LARGE = Planned(200, b'{"data": [' + b" " * 10_000_000 + b"]}")
ELSEWHERE = Planned(302, headers=(("Location", "/payments"),))


@pytest.mark.parametrize(
    ("answer", "reason"),
    [(Planned(500), "server_error"), (Planned(401), "unauthorised"), (Planned(429), "throttled"), (HTML, "not_json")],
)
def test_an_answer_that_is_none_is_ambiguous_and_asked_again(payments: Payments, answer: Planned, reason: str) -> None:
    payments.sent()
    payments.shows()
    payments.destination.always_answer(answer)
    payments.reconcile()
    assert payments.facts() == (1, "awaiting_confirmation", "ambiguous")
    assert payments.found() == [("ambiguous", "probe_failed", "wait", True)]
    assert (payments.events()[0].evidence or {})["failed"] == reason
    later = payments.row().next_attempt_at
    assert later is not None
    assert later > payments.now()


@pytest.mark.parametrize(("answer", "reason"), [(LARGE, "answer_too_large"), (ELSEWHERE, "redirected")])
def test_ten_megabytes_and_redirects_are_ambiguous(local_payments: Payments, answer: Planned, reason: str) -> None:
    local_payments.sent()
    local_payments.destination.always_answer(answer)
    local_payments.reconcile()
    assert local_payments.facts() == (0, "awaiting_confirmation", "ambiguous")
    assert (local_payments.events()[0].evidence or {})["failed"] == reason


def test_a_private_address_is_not_asked(local_payments: Payments) -> None:
    local_payments.sent()
    local_payments.behaving(allow_private=False)
    local_payments.reconcile()
    assert local_payments.facts() == (0, "awaiting_confirmation", "ambiguous")
    assert (local_payments.events()[0].evidence or {})["failed"] == "address_private"
    assert local_payments.destination.looks() == 0


def test_two_candidates_go_to_a_person_at_once(payments: Payments) -> None:
    payments.sent()
    payments.shows()
    payments.shows()
    payments.reconcile()
    assert payments.facts() == (2, "manual_review", "ambiguous")
    assert payments.row().recommended_action == "compensate"


def test_a_destination_that_stays_silent_is_left_to_a_person_at_the_deadline(payments: Payments) -> None:
    payments.sent()
    payments.destination.always_answer(Planned(500))
    payments.reconcile()
    payments.wait(timedelta(hours=24))
    payments.reconcile()
    assert payments.facts() == (0, "manual_review", "ambiguous")
    assert payments.found()[-1] == ("ambiguous", "past_deadline", "review", True)
