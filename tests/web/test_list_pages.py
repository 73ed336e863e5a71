"""Pages of a list: no row lost or repeated, however many share an instant, and the same work for any number of rows."""

import base64
from datetime import timedelta

import pytest
from flask.testing import FlaskClient

from dashboard.db import Database
from tests.web.client import PageClient
from tests.web.lists import add_operations, browser_on, copies, ids, link, listed, now, statements, walk

SAME_INSTANT = 200


def fill(database: Database) -> list[str]:
    """260 operations, 200 of them of one instant, newest first."""
    start = now() - timedelta(days=1)
    rows = [{"created_at": start + timedelta(minutes=each)} for each in range(30)]
    rows += [{"created_at": start + timedelta(hours=1)}] * SAME_INSTANT
    rows += [{"created_at": start + timedelta(hours=2, microseconds=each)} for each in range(30)]
    return list(reversed(add_operations(database, *rows)))


def test_walking_on_lists_every_operation_once_and_walking_back_the_same(database: Database) -> None:
    expected = fill(database)
    browser = browser_on(database)
    onward = list(walk(browser, "/operations?limit=50"))
    assert [each for _, page in onward for each in page] == expected
    back = list(walk(browser, onward[-1][0], rel="prev"))
    assert [each for _, page in reversed(back) for each in page] == expected


@pytest.mark.parametrize("sort", ["oldest", "worst", "amount"])
def test_every_order_lists_every_row_once_and_back_the_same(database: Database, sort: str) -> None:
    start = now() - timedelta(hours=5)
    amounts = [("10", "EUR"), ("10.0", "EUR"), ("9.5", "EUR"), (None, None), ("100", "EUR"), (None, None)]
    rows = [
        {"created_at": start, "deadline_at": start + timedelta(minutes=each % 3), "amount": amount, "currency": unit}
        for each, (amount, unit) in enumerate(amounts * 4)
    ]
    expected = set(add_operations(database, *rows))
    browser = browser_on(database)
    onward = list(walk(browser, f"/exceptions?limit=5&sort={sort}"))
    found = [each for _, page in onward for each in page]
    assert len(found) == len(expected)
    assert set(found) == expected
    back = list(walk(browser, onward[-1][0], rel="prev"))
    assert [each for _, page in reversed(back) for each in page] == found


def test_the_worst_are_those_longest_past_their_deadline(database: Database) -> None:
    due = [now() + timedelta(minutes=minutes) for minutes in (-5, -90, 30, -2)]
    first, second, third, fourth = add_operations(database, *({"deadline_at": at} for at in due))
    assert listed(browser_on(database), "/exceptions") == [second, first, fourth, third]


def test_amounts_are_ordered_as_numbers(database: Database) -> None:
    amounts = ["9", "100", "-3", "10.5"]
    nine, hundred, negative, ten = add_operations(database, *({"amount": amount} for amount in amounts))
    assert listed(browser_on(database), "/exceptions?sort=amount") == [hundred, ten, nine, negative]


def test_amounts_of_more_digits_than_an_import_takes_are_ordered_too(database: Database) -> None:
    small, huge = add_operations(database, {"amount": "1"}, {"amount": "9" * 31})
    assert listed(browser_on(database), "/exceptions?sort=amount", limit=1) == [huge, small]


@pytest.mark.parametrize(
    ("path", "cursor"),
    [
        ("/operations", '["newest", "0001-01-01T00:00:00+14:00", 1]'),
        ("/operations", "[" * 2500),
        ("/exceptions?sort=amount", '["amount", "1E+999999", 1]'),
        ("/actions", f'["newest", "{2**63}", 1]'),
        ("/audit", '["newest", 1e999, 1]'),
    ],
)
def test_a_cursor_that_no_row_has_is_refused(database: Database, path: str, cursor: str) -> None:
    after = base64.urlsafe_b64encode(cursor.encode()).decode().rstrip("=")
    answer = browser_on(database).get(f"{path}{'&' if '?' in path else '?'}after={after}")
    assert (answer.status_code, "Start from its beginning" in answer.text) == (400, True)


def test_the_first_page_leads_nowhere_back_and_the_last_nowhere_on(sqlite_database: Database) -> None:
    copies(sqlite_database, 3)
    browser = browser_on(sqlite_database)
    first = browser.get("/operations?limit=2").text
    assert link(first, "prev") is None
    last = browser.get(link(first, "next") or "").text
    assert (link(last, "next"), len(ids(last))) == (None, 1)
    assert link(browser.get(link(last, "prev") or "").text, "prev") is None


def test_a_page_takes_the_same_queries_for_5000_rows_as_for_100(database: Database) -> None:
    copies(database, 100)
    browser = browser_on(database)
    few = queries(database, browser)
    copies(database, 4900)
    assert queries(database, browser) == few


def test_no_list_reads_a_payload(sqlite_database: Database) -> None:
    copies(sqlite_database, 3)
    large = ("operations.expected,", "operations.expected ", "evidence", "operation_payloads", "response_body")
    for path, seen in queries(sqlite_database, browser_on(sqlite_database)).items():
        assert [statement for statement in seen if any(word in statement for word in large)] == [], path


def queries(database: Database, browser: PageClient) -> dict[str, list[str]]:
    """The SQL of each page, once its templates are compiled."""
    found = {}
    for path in ("/", "/exceptions", "/operations", "/operations?q=op-"):
        FlaskClient.open(browser, path)
        with statements(database) as seen:
            FlaskClient.open(browser, path)
        found[path] = seen
    return found
