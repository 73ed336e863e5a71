"""The list of types and the page of each: every number lists its rows, whatever the type is called."""

from datetime import timedelta
from urllib.parse import quote
from xml.etree.ElementTree import Element

import pytest

from dashboard.db import Database
from dashboard.domain.ages import Windows
from dashboard.domain.permissions import Grant, Role
from dashboard.services.open_snapshots import refresh
from tests.web.client import PageClient, heading, parse, text_of
from tests.web.lists import add_operations, browser_on, content, counts, listed, now, statements

TENANTS = ("es", "es", "br", "jp")
HOSTILE = (
    "a/b//c",
    "/",
    "..",
    ".",
    "100%",
    "%2F",
    "a%252Fb",
    "<b>&amp;\"'",
    "\N{SHIP}" * 64,
    "x" * 64,
    "a\\b?c#d;e",
    "line\nbreak",
    "+ plus",
)


@pytest.fixture
def browser(sqlite_database: Database) -> PageClient:
    return browser_on(sqlite_database)


def check_numbers(browser: PageClient, address: str) -> int:
    """Each number that leads to operations lists as many; how many such numbers there are."""
    found = [
        (value, url)
        for value, url, name in counts(browser.page(address))
        if url.startswith(("/operations", "/exceptions")) and not (name or "").endswith("_seconds")
        if name not in {"confirmed_in_time", "confirmed_p50", "confirmed_p95", "confirmed_p99"}
    ]
    for value, url in found:
        assert len(listed(browser, url)) == int(value), url
    return len(found)


@pytest.mark.parametrize("name", HOSTILE)
def test_a_type_of_any_name_has_a_page_that_its_name_leads_to(
    sqlite_database: Database, browser: PageClient, name: str
) -> None:
    add_operations(sqlite_database, {"type": name, "created_at": now()})
    for address in ("/", "/types", "/trends"):
        [link] = led_to(browser.page(address), "/types/")
        page = browser.get(link)
        assert (page.status_code, "1 operation cannot finish without a person." in page.text) == (200, True)
        assert check_numbers(browser, link) > 5
        [policy] = led_to(parse(page.text), "/policies/")
        assert browser.get(policy).status_code == 200


def led_to(page: Element, start: str) -> set[str]:
    """Where the links of a page lead that begin like this."""
    return {url for each in page.iter("a") if (url := each.get("href", "")).startswith(start)}


def test_a_name_with_slashes_can_be_typed_as_it_is(sqlite_database: Database, browser: PageClient) -> None:
    add_operations(sqlite_database, {"type": "a/b", "created_at": now()})
    assert "a/b" in content(browser.page("/types/a/b"))


def test_numbers_of_a_type_and_a_tenant_list_their_rows(sqlite_database: Database, browser: PageClient) -> None:
    at = now()
    for number, tenant in enumerate(("es", "es", "br")):
        add_operations(
            sqlite_database,
            {
                "type": "t",
                "tenant": tenant,
                "created_at": at - timedelta(minutes=6 + 30 * number),
                "verdict": "divergent",
            },
            {"type": "t", "tenant": tenant, "state": "awaiting_confirmation", "amount": "1.10", "currency": "EUR"},
            {"type": "t", "tenant": tenant, "state": "confirmed", "created_at": at, "confirmed_at": at},
            {"type": "other", "tenant": tenant, "created_at": at},
        )
    assert check_numbers(browser, "/types/t") > 15
    assert check_numbers(browser, "/types/t?tenant=es&days=7") > 15
    assert check_numbers(browser, "/types?tenant=es") > 5


def test_money_is_summed_to_the_last_digit_and_leads_to_its_exceptions(
    sqlite_database: Database, browser: PageClient
) -> None:
    rows = [
        {"type": "t", "amount": amount, "currency": "EUR"} for amount in ("0.1", "0.2", "1000000000000000000000.01")
    ]
    add_operations(sqlite_database, *rows, {"type": "t", "amount": "7", "currency": "JPY"})
    [row] = [each for each in browser.page("/types/t").iter("tr") if each.get("data-currency") == "EUR"]
    assert text_of(row) == "EUR 3 €1,000,000,000,000,000,000,000.31"
    assert [len(listed(browser, each.get("href", ""))) for each in row.iter("a")] == [3, 3]


@pytest.mark.parametrize("types", [1, 300])
@pytest.mark.parametrize("address", ["/", "/types", "/types/type%201", "/trends"])
def test_the_number_of_statements_does_not_follow_the_types(
    sqlite_database: Database, browser: PageClient, address: str, types: int
) -> None:
    add_operations(
        sqlite_database, *({"type": f"type {number}", "created_at": now()} for number in range(1, types + 1))
    )
    browser.page(address)
    with statements(sqlite_database) as seen:
        browser.page(address)
    assert len(seen) <= 18


def test_all_types_can_be_walked_through_and_none_twice(sqlite_database: Database, browser: PageClient) -> None:
    names = [f"type {number:03}" for number in range(130)]
    add_operations(sqlite_database, *({"type": name, "created_at": now()} for name in names))
    add_operations(sqlite_database, {"type": names[77], "created_at": now()})
    seen: list[str] = []
    url: str | None = "/types"
    while url:
        page = browser.page(url)
        seen += [row.get("data-type", "") for row in page.iter("tr") if row.get("data-type")]
        url = next((each.get("href") for each in page.iter("a") if each.get("rel") == "next"), None)
    assert seen == [names[77], *(name for name in names if name != names[77])]
    back = next(each.get("href", "") for each in page.iter("a") if each.get("rel") == "prev")
    assert [row.get("data-type") for row in browser.page(back).iter("tr") if row.get("data-type")] == seen[50:100]
    assert browser.get("/types?after=broken").status_code == 400


def test_nobody_learns_of_types_beyond_their_grants(sqlite_database: Database) -> None:
    add_operations(sqlite_database, {"type": "secret", "tenant": "br", "created_at": now()}, {"type": "seen"})
    for grant in (Grant(Role.SUPPORT, "es"), Grant(Role.SUPPORT, None, "seen")):
        browser = browser_on(sqlite_database, grant)
        assert "secret" not in content(browser.page("/types?q=e"))
        assert browser.get("/types/secret").status_code == browser.get("/types/nothing").status_code == 404


@pytest.mark.parametrize("name", ["x" * 65, "\N{SHIP}" * 128, "\x00", "%ED%A0%80", "nothing"])
def test_a_type_that_does_not_exist_is_not_found(browser: PageClient, name: str) -> None:
    answer = browser.get("/types/" + (name if "%" in name else quote(name)))
    assert (answer.status_code, heading(answer) != "") == (404, True)


def test_a_type_without_open_work_or_history_says_so(sqlite_database: Database, browser: PageClient) -> None:
    add_operations(sqlite_database, {"type": "old", "state": "confirmed", "created_at": now() - timedelta(days=200)})
    said = content(browser.page("/types/old"))
    assert "Nothing of this type is open." in said
    assert "Nothing was created, judged, sent again or confirmed in these 30 days." in said
    assert "No type with open work or history fits" in content(browser.page("/types?q=old"))


def test_one_sample_is_its_own_percentiles(sqlite_database: Database, browser: PageClient) -> None:
    at = now()
    add_operations(
        sqlite_database,
        {"type": "t", "state": "confirmed", "created_at": at - timedelta(seconds=10), "confirmed_at": at},
    )
    values = {name: value for value, _, name in counts(browser.page("/types/t")) if name}
    assert {values[name] for name in ("confirmed_p50", "confirmed_p95", "confirmed_p99")} == {"9"}
    assert "about 100.0%" in content(browser.page("/types/t"))


def test_what_was_counted_ahead_says_when_and_is_summed_within_the_grants(database: Database) -> None:
    worth = {"type": "t", "amount": "1.5", "currency": "EUR"}
    add_operations(database, *({"tenant": tenant, **worth} for tenant in TENANTS))
    assert refresh(database, windows=Windows(), at_least=1)
    add_operations(database, {"tenant": "es", **worth})
    for grants, size in (((Grant(Role.SUPPORT),), 4), ((Grant(Role.SUPPORT, "es"), Grant(Role.SUPPORT, "br")), 3)):
        browser = browser_on(database, *grants)
        for address in ("/", "/types", "/types/t"):
            page = browser.page(address)
            assert "counted every 10 seconds" in content(page)
            assert str(size) in {value for value, _, _ in counts(page)}
        [row] = [each for each in browser.page("/").iter("tr") if each.get("data-currency") == "EUR"]
        assert text_of(row) == f"EUR {size} €{size * 1.5:.2f}"
