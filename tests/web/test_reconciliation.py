"""Runs, their findings and check now, as people see them."""

from dataclasses import replace
from datetime import timedelta
from types import MappingProxyType
from typing import Any

import pytest
from flask import Flask

from dashboard.db import transact
from dashboard.domain.permissions import Grant, Role
from dashboard.domain.policy import Mode
from tests import factories
from tests.destination import Planned
from tests.reconciling import CHARGE, Payments
from tests.web.client import PageClient, parse, text_of
from tests.web.conftest import SignIn


@pytest.fixture
def seen(local_payments: Payments, app: Flask) -> Payments:
    """The operations that the application shows, under the policies it has."""
    app.extensions["dashboard.policies"] = local_payments.policies
    return local_payments


def found_rows(page: Any) -> list[str]:
    return [row.get("data-operation-id") for row in page.iter("tr") if row.get("data-operation-id")]


def figures(page: Any) -> dict[str, str]:
    return {data.get("data-figure"): data.get("value") for data in page.iter("data") if data.get("data-figure")}


def test_before_any_run_the_page_says_what_will_come(client: PageClient, sign_in: SignIn) -> None:
    assert "No destination was asked yet" in text_of(sign_in("support").page("/reconciliation"))


def test_every_count_of_a_run_opens_what_it_counts(seen: Payments, sign_in: SignIn) -> None:
    seen.sent("op-1")
    seen.shows("op-1")
    seen.sent("op-2")
    seen.shows("op-2", amount="1.00")
    seen.sent("op-3")
    run = seen.reconcile()
    browser = sign_in("support")
    page = browser.page(f"/reconciliation/{run}")
    assert found_rows(page) == ["op-1", "op-2", "op-3"]
    counted = figures(page)
    for verdict in ("correct", "divergent", "ambiguous", "absent"):
        listed = browser.page(f"/reconciliation/{run}?verdict={verdict}")
        assert counted[f"run_{verdict}"] == str(len(found_rows(listed))), verdict
    words = text_of(browser.page("/reconciliation"))
    assert "Correct 1" in words
    assert "Divergent 1" in words


def test_a_run_that_only_observed_says_what_would_have_been_done(seen: Payments, sign_in: SignIn) -> None:
    seen.sent()
    seen.shows()
    run = seen.reconcile(observe=True)
    words = text_of(sign_in("support").page(f"/reconciliation/{run}"))
    assert "This run changed nothing." in words
    assert "Would be confirmed." in words


def test_findings_outside_the_grants_are_neither_shown_nor_counted(seen: Payments, sign_in: SignIn) -> None:
    seen.sent("op-1")
    seen.sent("op-2", tenant="loja-br")
    run = seen.reconcile()
    only = sign_in(None, Grant(Role.SUPPORT, "loja-br"))
    page = only.page(f"/reconciliation/{run}")
    assert found_rows(page) == ["op-2"]
    assert figures(page)["run_ambiguous"] == "1"
    elsewhere = sign_in(None, Grant(Role.SUPPORT, "shop-jp"))
    assert elsewhere.get(f"/reconciliation/{run}").status_code == 404
    assert "No destination was asked yet" in text_of(elsewhere.page("/reconciliation"))


def test_pages_of_findings_lose_no_row(seen: Payments, sign_in: SignIn) -> None:
    for number in range(5):
        seen.sent(f"op-{number}")
    run = seen.reconcile()
    browser, path, rows = sign_in("support"), f"/reconciliation/{run}?limit=2", []
    while path:
        page = browser.page(path)
        rows += found_rows(page)
        path = next((link.get("href", "") for link in page.iter("a") if link.get("rel") == "next"), "")
    assert rows == [f"op-{number}" for number in range(5)]


def test_check_now_says_what_came_of_it_in_a_sentence(seen: Payments, sign_in: SignIn) -> None:
    seen.sent()
    seen.shows()
    browser = sign_in("support")
    answer = browser.send("/operations/op-1/check")
    assert (answer.status_code, answer.location) == (303, "/operations/op-1")
    assert "The effect exists as expected. Confirmed." in text_of(browser.page("/operations/op-1"))
    assert seen.row().state == "confirmed"


def test_check_now_says_why_a_destination_could_not_be_asked(seen: Payments, sign_in: SignIn) -> None:
    seen.sent()
    seen.destination.always_answer(Planned(401))
    browser = sign_in("support")
    browser.send("/operations/op-1/check")
    words = text_of(browser.page("/operations/op-1"))
    assert "The destination could not be asked. It does not accept our credentials." in words


def test_check_now_in_observe_mode_says_that_nothing_changed(seen: Payments, app: Flask, sign_in: SignIn) -> None:
    types = MappingProxyType({"charge_order": replace(CHARGE, mode=Mode.OBSERVE)})
    app.extensions["dashboard.policies"] = replace(seen.policies, types=types)
    seen.sent()
    seen.shows()
    browser = sign_in("support")
    browser.send("/operations/op-1/check")
    assert "This type is only observed: nothing was changed." in text_of(browser.page("/operations/op-1"))
    assert seen.row().revision == 1


def test_a_check_while_another_is_at_it_is_a_conflict(seen: Payments, sign_in: SignIn) -> None:
    until = seen.now() + timedelta(minutes=1)
    seen.sent(lease_token="somebody", lease_until=until)
    answer = sign_in("support").send("/operations/op-1/check")
    assert answer.status_code == 409
    assert "Somebody is at this operation right now" in text_of(parse(answer.text))


def test_only_who_may_check_sees_the_button_and_gets_through(seen: Payments, sign_in: SignIn) -> None:
    seen.sent()
    assert "Check now" in text_of(sign_in("support").page("/operations/op-1"))
    elsewhere = sign_in(None, Grant(Role.SUPPORT, "loja-br"))
    assert elsewhere.send("/operations/op-1/check").status_code == 404
    assert sign_in("admin").send("/operations/op-1/check").status_code == 403
    assert seen.destination.looks() == 0


def test_what_cannot_be_asked_has_no_button(seen: Payments, sign_in: SignIn) -> None:
    transact(seen.database, lambda session: factories.operation(session, operation_id="op-9", type="send_mail"))
    assert "Check now" not in text_of(sign_in("support").page("/operations/op-9"))


def test_the_address_of_a_check_leads_back_to_the_operation(seen: Payments, sign_in: SignIn) -> None:
    seen.sent()
    answer = sign_in("support").get("/operations/op-1/check")
    assert (answer.status_code, answer.location) == (302, "/operations/op-1")
    assert seen.destination.looks() == 0


def test_fields_that_policy_does_not_compare_are_not_called_different(seen: Payments, sign_in: SignIn) -> None:
    seen.sent()
    seen.shows(amount="1.00")
    seen.reconcile()
    page = sign_in("support").page("/operations/op-1")
    results = {
        text_of(next(row.iter("th"))): text_of(list(row.iter("td"))[-1])
        for row in page.iter("tr")
        if row.find("th") is not None and row.find("td") is not None
    }
    assert {name: results[name] for name in ("amount", "currency", "order")} == {
        "amount": "Differs",
        "currency": "Same",
        "order": "Not compared",
    }
