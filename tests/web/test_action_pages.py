"""The list of actions and the page of one: what people asked for, on which grounds, and whether it worked."""

import pytest

from dashboard.db import Database
from dashboard.domain.permissions import Grant, Role
from tests.web.client import PageClient, parse
from tests.web.lists import browser_on, content, link
from tests.web.repairs import MANAGER, OPERATOR, SUPPORT, add, ask


def asked(database: Database, browser: PageClient, *actions: str) -> None:
    """Ask for these actions, each on an operation of its own."""
    reasons = {"requeue": "effect_absent", "close": "written_off", "confirm": "seen_at_destination"}
    for action in actions:
        assert ask(browser, add(database), action, reason_code=reasons[action]).status_code == 303


def rows(browser: PageClient, query: str = "") -> list[str | None]:
    page = browser.page(f"/actions{query}")
    return [row.get("data-action-id") for row in page.iter("tr") if row.get("data-action-id")]


def test_the_list_tells_what_is_to_be_verified_and_what_needs_no_proof(database: Database) -> None:
    browser = browser_on(database, OPERATOR)
    asked(database, browser, "requeue", "close")
    page = content(browser.page("/actions"))
    assert "2 actions" in page
    assert "Effect to be verified" in page
    assert "Nothing to verify" in page


def test_filters_narrow_the_list(sqlite_database: Database) -> None:
    mine, other = browser_on(sqlite_database, OPERATOR), browser_on(sqlite_database, MANAGER)
    asked(sqlite_database, mine, "requeue", "close")
    asked(sqlite_database, other, "confirm")
    assert rows(mine) == ["3", "2", "1"]
    assert rows(mine, "?outcome=to_verify") == ["1"]
    assert rows(mine, "?action=close&action=confirm") == ["3", "2"]
    assert rows(mine, "?requested_by=me") == ["2", "1"]
    assert rows(mine, "?state=proposed") == []


def test_pages_lose_no_action(sqlite_database: Database) -> None:
    browser = browser_on(sqlite_database, OPERATOR)
    asked(sqlite_database, browser, *["close"] * 5)
    first = browser.get("/actions?limit=2")
    second = browser.get(link(first.text, "next") or "")
    assert rows(browser, (link(second.text, "next") or "").removeprefix("/actions")) == ["1"]
    assert "5 actions" in content(parse(second.text))


@pytest.mark.parametrize("query", ["?outcome=perhaps", "?action=%00", "?after=!!", "?limit=0", "?requested_by=%00"])
def test_a_query_that_makes_no_sense_is_refused(sqlite_database: Database, query: str) -> None:
    assert browser_on(sqlite_database, SUPPORT).get(f"/actions{query}").status_code == 400


def test_an_action_shows_its_evidence_and_what_was_known(sqlite_database: Database) -> None:
    browser = browser_on(sqlite_database, OPERATOR)
    asked(sqlite_database, browser, "requeue")
    page = content(browser.page("/actions/1"))
    assert "Asked; the effect is still to be verified." in page
    assert "Reference ticket 4471" in page
    assert "amount 318.93" in page


@pytest.mark.parametrize("number", ["2", "0", "9223372036854775807", "9" * 30, "1" * 5000])
def test_an_action_that_is_not_there_is_not_found(sqlite_database: Database, number: str) -> None:
    assert browser_on(sqlite_database, OPERATOR).get(f"/actions/{number}").status_code == 404


def test_an_action_outside_the_grants_does_not_exist(sqlite_database: Database) -> None:
    asked(sqlite_database, browser_on(sqlite_database, OPERATOR), "close")
    stranger = browser_on(sqlite_database, Grant(Role.MANAGER, "loja-br"))
    assert (rows(stranger), stranger.get("/actions/1").status_code) == ([], 404)


def test_without_any_the_list_says_which_kind_of_nothing_it_is(sqlite_database: Database) -> None:
    browser = browser_on(sqlite_database, SUPPORT)
    assert "Nobody has asked for anything yet" in content(browser.page("/actions"))
    assert "No action fits these filters." in content(browser.page("/actions?action=close"))
