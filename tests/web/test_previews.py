"""A preview says exactly what will happen, how risky it is, and changes nothing."""

from pathlib import Path

import pytest

from dashboard.config import Settings
from dashboard.db import Database
from tests import factories
from tests.web.client import PageClient, heading, parse, text_of
from tests.web.lists import app_on, browser_on, content, enter, statements
from tests.web.repairs import EVIDENCE, MANAGER, OPERATOR, SUPPORT, add, ask, open_form, row_of

POLICIES = """
[destinations.payments]
honours_idempotency_key = true
[destinations.bank]
[types.charge_order]
description = "Charge the total of an order to the customer's card"
destination = "payments"
compensation = "refund_order"
[types.refund_order]
destination = "bank"
deadline = "4h"
"""


@pytest.fixture
def browser(sqlite_database: Database, settings: Settings, tmp_path: Path) -> PageClient:
    """A manager, under policies that know a compensation."""
    path = tmp_path / "policies.toml"
    path.write_text(POLICIES)
    return enter(app_on(sqlite_database, settings.model_copy(update={"policies": path})), sqlite_database, MANAGER)


def effects(browser: PageClient, operation_id: str, action: str) -> list[str]:
    page = browser.page(f"/operations/{operation_id}/{action}")
    listing = next(each for each in page.iter("ol") if each.get("class") == "effects")
    return [text_of(item) for item in listing.iter("li")]


def test_a_requeue_names_the_request_and_its_key(browser: PageClient, sqlite_database: Database) -> None:
    operation_id = add(sqlite_database, idempotency_key="charge:452")
    assert effects(browser, operation_id, "requeue")[:3] == [
        "Its state changes: Manual review → Retry scheduled",
        "€318.93 for order 452 is sent to payments once more, as attempt 2, as soon as a worker is free.",
        "payments gets the same key again and makes no second effect of it: charge:452",
    ]


def test_a_compensation_names_what_it_creates(browser: PageClient, sqlite_database: Database) -> None:
    add(sqlite_database, operation_id="op-a")
    assert effects(browser, "op-a", "compensate")[:3] == [
        "A new operation is created, “Refund order”: €318.93 for order 452, to be done within 4 h: op-a~compensation-1",
        "A worker sends it to bank with a key of its own: compensate:op-a:1",
        "This operation stays in review until that one is confirmed; then it becomes Compensated.",
    ]


def test_while_an_effect_is_being_undone_it_is_not_made_again(browser: PageClient, sqlite_database: Database) -> None:
    add(sqlite_database, operation_id="op-a", **factories.seen_twice())
    assert ask(browser, "op-a", "compensate", reason_code="charged_twice").status_code == 303
    page = content(browser.page("/operations/op-a"))
    assert "Compensation asked for: op-a~compensation-1 waits for a worker." in page
    assert "Its compensation is under way" in page
    for action in ("requeue", "close", "confirm"):
        answer = browser.get(f"/operations/op-a/{action}")
        assert answer.status_code == 409
        assert "A compensation is under way: op-a~compensation-1." in content(parse(answer.text))


def test_undoing_what_was_not_found_offers_a_check_and_the_override_only(
    browser: PageClient, sqlite_database: Database
) -> None:
    add(sqlite_database, operation_id="op-a")
    page = browser.page("/operations/op-a/compensate")
    assert "The last check found no effect, so there may be nothing to undo." in content(page)
    assert [option.get("value") for option in page.iter("option") if option.get("value")] == ["override"]
    usual = ask(browser, "op-a", "compensate", reason_code="charged_twice")
    assert (usual.status_code, row_of(sqlite_database, "op-a").revision) == (422, 1)


def test_an_effect_that_exists_is_confirmed_instead(browser: PageClient, sqlite_database: Database) -> None:
    operation_id = add(sqlite_database, verdict="correct", verdict_at=factories.NOW)
    answer = browser.get(f"/operations/{operation_id}/requeue")
    assert (answer.status_code, heading(answer)) == (409, "Requeue: not possible")
    assert "sending it again would make it twice. Confirm it instead." in content(parse(answer.text))
    assert f'href="/operations/{operation_id}/confirm"' in answer.text


def test_without_fresh_proof_the_preview_says_what_is_missing_and_who_must_agree(
    browser: PageClient, sqlite_database: Database
) -> None:
    operation_id = add(sqlite_database, verdict="ambiguous", verdict_at=factories.NOW)
    page = browser.page(f"/operations/{operation_id}/requeue")
    assert "Fresh proof is missing The last check did not prove that the effect is absent." in content(page)
    assert "Nothing happens until 1 other person has approved it." in content(page)
    assert [option.get("value") for option in page.iter("option")] == ["", "override"]
    buttons = [text_of(button) for button in page.iter("button")]
    assert f"Propose: Requeue {operation_id}" in buttons


def test_the_button_repeats_the_verb_and_the_object(browser: PageClient, sqlite_database: Database) -> None:
    page = browser.page(f"/operations/{add(sqlite_database, operation_id='op-b')}/confirm")
    assert "Confirm op-b" in [text_of(button) for button in page.iter("button") if button.get("type") == "submit"]


def test_each_form_has_a_key_of_its_own(browser: PageClient, sqlite_database: Database) -> None:
    operation_id = add(sqlite_database)
    first, second = (open_form(browser, operation_id)["idempotency_key"] for _ in range(2))
    assert first != second


def test_what_the_state_forbids_is_explained_with_what_it_allows(
    browser: PageClient, sqlite_database: Database
) -> None:
    operation_id = add(sqlite_database, state="awaiting_confirmation")
    answer = browser.get(f"/operations/{operation_id}/requeue")
    assert (answer.status_code, heading(answer)) == (409, "Requeue: not possible")
    assert "Its state is “Awaiting confirmation”: escalate it first." in content(parse(answer.text))
    assert f'href="/operations/{operation_id}/escalate"' in answer.text


def test_support_learns_that_it_proposes_and_operators_decide(sqlite_database: Database) -> None:
    operation_id = add(sqlite_database, state="retry_scheduled")
    page = content(browser_on(sqlite_database, SUPPORT).page(f"/operations/{operation_id}/close"))
    assert "Somebody else must agree first" in page
    assert "Your role proposes; operators decide." in page


def test_only_managers_reopen(sqlite_database: Database) -> None:
    answer = browser_on(sqlite_database, OPERATOR).get(f"/operations/{add(sqlite_database, state='confirmed')}/reopen")
    assert (answer.status_code, "Managers decide this; your role does not." in answer.text) == (403, True)


def test_html_in_every_field_stays_text(browser: PageClient, sqlite_database: Database) -> None:
    hostile = "<script>alert(1)</script>{{ 7*7 }}\u202e"
    operation_id = add(
        sqlite_database,
        **dict.fromkeys(("tenant", "entity_type", "entity_id", "idempotency_key", "remote_id", "assigned_to"), hostile),
        destination=hostile,
        expected={hostile: hostile},
    )
    typed = EVIDENCE | {"note": hostile, "reference": hostile}
    refused = ask(browser, operation_id, **typed | {"reason_code": hostile})
    ask(browser, operation_id, **typed)
    pages = [browser.get(path).text for path in (f"/operations/{operation_id}", "/actions", "/actions/1")]
    for text in (refused.text, *pages):
        assert "<script>alert" not in text
        assert "{{ 7*7 }}" in text


@pytest.mark.parametrize(
    "path", ["", "/requeue", "/compensate", "/close", "/confirm", "/escalate", "/reopen", "/events/1"]
)
def test_looking_writes_nothing(sqlite_database: Database, path: str) -> None:
    operation_id, browser = add(sqlite_database), browser_on(sqlite_database, MANAGER)
    with statements(sqlite_database) as seen:
        browser.get(f"/operations/{operation_id}{path}")
    assert seen
    assert [each for each in seen if not each.startswith(("SELECT", "BEGIN DEFERRED"))] == []
