"""Trends: numbers of history that lead to exactly the rows they count, and the list behind events."""

from datetime import timedelta

import pytest
from sqlalchemy.orm import Session

from dashboard.db import Database, transact
from dashboard.domain.permissions import Grant, Role
from tests import factories
from tests.web.client import PageClient
from tests.web.lists import add_operations, browser_on, content, counts, listed, now

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture
def browser(sqlite_database: Database) -> PageClient:
    return browser_on(sqlite_database)


def numbers(browser: PageClient, address: str) -> dict[str, str]:
    """What each count of the page is, by where it leads; times and shares are no counts."""
    found = counts(browser.page(address))
    return {url: value for value, url, name in found if name in {None, "confirmed"}}


def test_each_number_leads_to_exactly_its_rows(sqlite_database: Database, browser: PageClient) -> None:
    at = now()
    ended = {"state": "confirmed", "confirmed_at": at, "deadline_at": at + timedelta(hours=1)}
    for days, verdict in ((0, "correct"), (1, "divergent"), (1, "divergent"), (29, "absent"), (30, "divergent")):
        add_operations(sqlite_database, {"created_at": at - timedelta(days=days), "verdict": verdict, **ended})
    found = {url: value for url, value in numbers(browser, "/trends").items() if url.startswith("/operations")}
    assert len(found) > 5
    for url, value in found.items():
        assert len(listed(browser, url)) == int(value), url
    assert "2 of 4 that were checked differ from what was expected: 50.0%" in content(browser.page("/trends"))


def test_events_are_counted_and_listed_by_kind_and_cause(sqlite_database: Database, browser: PageClient) -> None:
    def unit(session: Session) -> None:
        row = factories.operation(session, operation_id="op-1", state="retry_scheduled", created_at=now())
        for seq, cause in enumerate(("throttled", "throttled", "not_sent"), start=1):
            moved = {"from_state": "processing", "to_state": "retry_scheduled", "actor_kind": "worker"}
            factories.event(session, row, seq=seq, kind="transition", cause=cause, evidence=None, **moved)

    transact(sqlite_database, unit)
    found = {url: value for url, value in numbers(browser, "/trends").items() if "label=throttled" in url}
    [(url, value)] = found.items()
    page = browser.page(url)
    assert [row.get("data-operation-id") for row in page.iter("tr")][1:] == ["op-1", "op-1"]
    assert (value, "2 events" in content(page)) == ("2", True)


def test_nothing_of_nothing_is_a_dash_and_never_a_share(sqlite_database: Database, browser: PageClient) -> None:
    assert "Nothing happened" in content(browser.page("/trends?days=7"))
    add_operations(sqlite_database, {"created_at": now()})
    said = content(browser.page("/trends?days=7"))
    assert ("0 of 0 that were checked differ from what was expected: –" in said, "NaN" in said) == (True, False)


def test_nobody_counts_beyond_their_grants(sqlite_database: Database) -> None:
    browser = browser_on(sqlite_database, Grant(Role.SUPPORT, tenant="shop-jp"))
    at = now()
    add_operations(
        sqlite_database, {"created_at": at}, {"created_at": at, "tenant": "shop-jp", "type": "sync_customer"}
    )
    rows = [row.get("data-type") for row in browser.page("/trends").iter("tr") if row.get("data-type")]
    assert rows == ["sync_customer"]
    assert "Nothing happened" in content(browser.page("/trends?tenant=tienda-es"))


def test_bars_and_points_can_be_reached_and_say_their_number(sqlite_database: Database, browser: PageClient) -> None:
    add_operations(sqlite_database, {"created_at": now(), "verdict": "divergent"})
    words = [link.get("aria-label", "") for link in browser.page("/trends?days=7").iter(f"{SVG}a")]
    assert any("1 of 1 diverged, 100.0%" in each for each in words)


@pytest.mark.parametrize("address", ["/trends?days=8", "/facts?fact=created", "/facts?from=yesterday"])
def test_what_cannot_be_read_says_what_is_allowed(browser: PageClient, address: str) -> None:
    assert browser.get(address).status_code == 400
