"""The overview: what it says when nothing is open, to whom it is shown, and when it was counted."""

from datetime import timedelta

import pytest

from dashboard.db import Database
from dashboard.domain.permissions import Grant, Role
from tests.web.client import PageClient, heading, text_of
from tests.web.lists import add_operations, browser_on, content, counts, listed, now

FIGURES = [
    "open",
    "exceptions",
    "overdue",
    "manual_review",
    "awaiting_confirmation",
    "retry_scheduled",
    "oldest_age_seconds",
    "oldest_unverified_seconds",
    "divergence_rate_30d",
    "confirmed_p95_seconds",
    "idempotency_conflicts",
    "keys_waiting",
    "actions_to_verify",
    "approvals_waiting",
]


@pytest.fixture
def browser(sqlite_database: Database) -> PageClient:
    return browser_on(sqlite_database)


def test_every_figure_is_there_once(sqlite_database: Database, browser: PageClient) -> None:
    add_operations(sqlite_database, {})
    assert [name for _, _, name in counts(browser.page("/")) if name] == FIGURES


def test_what_is_nothing_of_nothing_has_no_value(sqlite_database: Database, browser: PageClient) -> None:
    add_operations(sqlite_database, {"state": "confirmed"})
    values = {name: value for value, _, name in counts(browser.page("/")) if name}
    unknown = ("oldest_age_seconds", "oldest_unverified_seconds", "confirmed_p95_seconds")
    assert {values[name] for name in unknown} == {""}
    assert values["divergence_rate_30d"] == ""
    assert values["open"] == "0"


def test_the_age_of_half_leads_to_those_at_least_as_old(sqlite_database: Database, browser: PageClient) -> None:
    ages = [timedelta(hours=hours) for hours in (1, 2, 3, 4)]
    rows = add_operations(sqlite_database, *({"created_at": now() - age} for age in ages))
    [half] = [each.get("href", "") for each in browser.page("/").iter("a") if text_of(each) == "2 h"]
    assert listed(browser, half) == list(reversed(rows[1:]))


def test_it_says_when_it_was_counted(sqlite_database: Database, browser: PageClient) -> None:
    add_operations(sqlite_database, {})
    page = browser.page("/")
    assert "Counted at" in content(page)
    assert f"{now():%Y}" in next(text_of(time) for time in page.iter("time"))


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        ([], "Not set up yet"),
        ([{"tenant": "other"}], "Not set up yet"),
        ([{"state": "confirmed"}], "All clear"),
        ([{"state": "pending", "deadline_at": now() + timedelta(days=1)}], "No operation needs a person."),
        ([{}], "1 operation cannot finish without a person."),
    ],
)
def test_it_says_which_kind_of_nothing_it_is(
    sqlite_database: Database, rows: list[dict[str, object]], says: str
) -> None:
    add_operations(sqlite_database, *rows)
    assert says in content(browser_on(sqlite_database, Grant(Role.SUPPORT, "tienda-es")).page("/"))


def test_an_administrator_is_led_to_what_they_may_open(sqlite_database: Database) -> None:
    add_operations(sqlite_database, {})
    browser = browser_on(sqlite_database, Grant(Role.ADMIN))
    answer = browser.get("/")
    assert (answer.status_code, heading(answer)) == (200, "No operations for your roles")
    assert 'href="/audit"' in answer.text
    assert "data-figure" not in answer.text
    assert browser.get("/operations").status_code == 403
