"""The queue and the list of operations: filters, their addresses, what is refused, and what an empty list says."""

from datetime import timedelta
from typing import Any
from urllib.parse import urlencode
from xml.etree.ElementTree import Element

import pytest
from flask.testing import FlaskClient

from dashboard.db import Database
from dashboard.domain.permissions import Grant, Role
from dashboard.queries import totals
from tests.web.client import PageClient, heading, parse, text_of
from tests.web.lists import add_operations, browser_on, content, counts, ids, link, links, listed, now

HOSTILE = "<script>alert(1)</script>'\"&amp;\u202e{{ 7*7 }}"
DAY = timedelta(days=1)

FILTERS: list[tuple[dict[str, Any], dict[str, Any], dict[str, str]]] = [
    ({"state": "pending"}, {}, {"state": "pending"}),
    ({"type": "a b"}, {}, {"type": "a b"}),
    ({"tenant": "x"}, {"tenant": "X"}, {"tenant": "x"}),
    ({"destination": "mail"}, {}, {"destination": "mail"}),
    ({"verdict": "divergent"}, {"verdict": "absent"}, {"verdict": "divergent"}),
    ({"verdict": None}, {"verdict": "absent"}, {"verdict": "none"}),
    ({"cause": "throttled"}, {}, {"cause": "throttled"}),
    ({"cause": None}, {}, {"cause": "none"}),
    ({"assigned_to": "ana@shop.example"}, {}, {"assigned": "ana@shop.example"}),
    ({}, {"assigned_to": "ana@shop.example"}, {"assigned": "nobody"}),
    ({"created_at": now() - 3 * DAY}, {"created_at": now()}, {"min_age": "2d"}),
    ({"created_at": now()}, {"created_at": now() - 3 * DAY}, {"max_age": "172800"}),
    ({"created_at": now()}, {"created_at": now() - 3 * DAY}, {"created_from": f"{now() - 2 * DAY:%Y-%m-%d}"}),
    ({"created_at": now() - 3 * DAY}, {"created_at": now()}, {"created_to": f"{now() - DAY:%Y-%m-%dT%H:%MZ}"}),
    ({"state": "confirmed", "confirmed_at": now()}, {}, {"confirmed_from": f"{now() - DAY:%Y-%m-%d}"}),
    ({"deadline_at": now() - DAY}, {"deadline_at": now() + DAY}, {"overdue": "1"}),
    ({"remote_id": "ch_9"}, {"remote_id": "xch_9"}, {"q": "ch_"}),
]

UNREADABLE = [
    ("state", "frozen", "manual_review"),
    ("verdict", "Divergent", "divergent"),
    ("cause", "bad luck", "sent_unknown"),
    ("sort", "random", "newest"),
    ("sort", "worst", "open work only"),
    ("sort", "amount", "open work only"),
    ("min_age", "old", "90s, 15m, 2h, 3d or 2w"),
    ("max_age", "-1d", "90s, 15m, 2h, 3d or 2w"),
    ("created_from", "yesterday", "2026-11-30T12:00:00Z"),
    ("created_to", "32.13.2026", "2026-11-30T12:00:00Z"),
    ("confirmed_from", "T", "2026-11-30T12:00:00Z"),
    ("overdue", "yes", "1"),
    ("limit", "201", "from 1 to 200"),
    ("type", "x" * 65, "at most 64"),
    ("assigned", "x" * 255, "at most 254"),
    ("tenant", "a\x00b", "a\\u0000b"),
    ("state", "\u202e<b>", "\\u202e<b>"),
    ("after", "not a cursor", "Start from its beginning"),
    ("before", "WyJuZXdlc3QiLCAieCIsIDFd", "Start from its beginning"),
    ("after", "WyJuZXdlc3QiLCAiMjAyNi0xMS0zMFQxMDowMDowMCswMDowMCIsIC0xXQ", "Start from its beginning"),
]


@pytest.fixture
def browser(sqlite_database: Database) -> PageClient:
    return browser_on(sqlite_database)


def by_class(page: Element, name: str) -> list[Element]:
    """The elements of a page with this class."""
    return [element for element in page.iter() if name in element.get("class", "").split()]


def test_each_filter_keeps_what_it_names(database: Database) -> None:
    browser = browser_on(database)
    for wanted, other, query in FILTERS:
        [kept, left_out] = add_operations(database, wanted, other)
        found = listed(browser, f"/operations?{urlencode(query)}")
        assert (kept in found, left_out in found) == (True, False), query


def test_values_of_one_filter_add_up_and_filters_narrow(sqlite_database: Database, browser: PageClient) -> None:
    kept = add_operations(sqlite_database, {"state": "pending"}, {"state": "processing"})
    add_operations(sqlite_database, {"state": "confirmed"}, {"state": "pending", "type": "other"})
    assert set(listed(browser, "/operations?state=pending&state=processing&type=charge_order")) == set(kept)


def test_assigned_to_me_is_the_person_who_asks(sqlite_database: Database, browser: PageClient) -> None:
    me = text_of(by_class(browser.page("/"), "account-name")[0])
    [mine, _other] = add_operations(sqlite_database, {"assigned_to": me}, {"assigned_to": "ana@shop.example"})
    assert listed(browser, "/operations?assigned=me") == [mine]


def test_what_cannot_be_read_is_named_and_left_out(browser: PageClient) -> None:
    for name, value, shown in UNREADABLE:
        answer = browser.get("/operations", query_string={"tenant": "es", "verdict": "none", "limit": "5", name: value})
        assert (answer.status_code, heading(answer)) == (400, "This request cannot be read"), name
        page = parse(answer.text)
        assert f"{name}:" in content(page)
        assert shown in content(page)
        [without] = [url for url in links(page) if url.startswith("/operations?")]
        assert f"{name}=" not in without
        assert FlaskClient.open(browser, without).status_code == 200


def test_a_cursor_of_another_order_is_refused(sqlite_database: Database, browser: PageClient) -> None:
    add_operations(sqlite_database, {}, {})
    following = link(browser.get("/operations?limit=1&sort=newest").text, "next") or ""
    assert browser.get(following.replace("sort=newest", "sort=oldest")).status_code == 400


@pytest.mark.parametrize("path", ["/operations", "/exceptions"])
def test_empty_and_unknown_parameters_mean_nothing(sqlite_database: Database, browser: PageClient, path: str) -> None:
    wanted = add_operations(sqlite_database, {})
    names = (
        "state type tenant destination verdict cause assigned min_age max_age created_from q sort after before limit"
    )
    empty = urlencode([(name, "") for name in [*names.split(), "overdue", "confirmed_from", "created_to"]])
    assert ids(browser.get(f"{path}?{empty}&utm_source=mail&columns=3").text) == wanted


@pytest.mark.parametrize(
    "path",
    [
        "/exceptions?verdict=none&cause=sent_unknown&type=charge_order&min_age=1h&sort=amount&limit=2",
        "/operations?state=manual_review&state=pending&overdue=1&sort=worst&limit=2&assigned=nobody",
        "/operations?q=op-&created_from=2020-01-01&max_age=400d&sort=oldest&limit=2",
    ],
)
def test_every_link_of_a_list_leads_to_a_list(sqlite_database: Database, browser: PageClient, path: str) -> None:
    add_operations(sqlite_database, *[{}] * 5, {"type": "other"})
    found = links(browser.page(path))
    assert len(found) > 5
    for url in found:
        assert FlaskClient.open(browser, url).status_code == 200, url


def test_each_filter_in_force_can_be_taken_away_alone(browser: PageClient) -> None:
    page = browser.page("/operations?state=pending&state=confirmed&verdict=none&limit=5&sort=oldest")
    chips = {text_of(chip).removeprefix("Remove filter "): chip.get("href") for chip in by_class(page, "chip")}
    assert chips == {
        "State: Pending": "/operations?verdict=none&limit=5&state=confirmed",
        "State: Confirmed": "/operations?verdict=none&limit=5&state=pending",
        "Verdict: None": "/operations?state=pending&state=confirmed&limit=5&sort=oldest",
    }


def test_the_form_shows_the_filters_in_force(browser: PageClient) -> None:
    page = browser.page("/operations?state=pending&type=rare&min_age=90m&created_from=2026-11-30T10:00Z&limit=7&q=abc")
    checked = {(box.get("name"), box.get("value")) for box in page.iter("input") if box.get("checked") is not None}
    assert checked == {("state", "pending"), ("type", "rare")}
    values = {box.get("name"): box.get("value") for box in page.iter("input") if box.get("type") != "checkbox"}
    assert {name: values[name] for name in ("min_age", "created_from", "limit")} == {
        "min_age": "90m",
        "created_from": "2026-11-30T10:00Z",
        "limit": "7",
    }


def test_only_the_sorted_column_says_so(sqlite_database: Database, browser: PageClient) -> None:
    add_operations(sqlite_database, {})

    def columns(path: str) -> dict[str, str | None]:
        found = browser.page(path).iter("th")
        return {text_of(each): each.get("aria-sort") for each in found if each.get("aria-sort")}

    assert columns("/exceptions") == {"Deadline": "ascending"}
    assert columns("/exceptions?sort=amount") == {"Amount": "descending"}
    assert columns("/operations") == {"Age": "ascending"}
    assert columns("/operations?sort=oldest") == {"Age": "descending"}


def test_groups_of_what_failed_alike_list_their_rows(database: Database) -> None:
    alike = {"verdict": "divergent", "type": "a & b", "deadline_at": now() + DAY}
    add_operations(database, *[alike] * 3, {"verdict": "divergent"}, {"verdict": None, "cause": None}, {})
    browser = browser_on(database)
    found = [(int(value), url) for value, url, _ in counts(browser.page("/exceptions"))]
    assert [value for value, _ in found] == [6, 3, 1, 1, 1]
    assert [len(listed(browser, url)) for _, url in found] == [6, 3, 1, 1, 1]
    again = [int(value) for value, _, _ in counts(browser.page(found[1][1]))]
    assert again == [6, 3, 1, 1, 1]


def test_the_queue_says_why_each_is_here(sqlite_database: Database, browser: PageClient) -> None:
    add_operations(
        sqlite_database,
        {"verdict": "divergent", "deadline_at": now() - DAY},
        {"state": "pending", "deadline_at": now() - 2 * DAY},
        {"verdict": "a word of the host", "cause": "permanent", "deadline_at": now() + DAY},
        {"state": "pending", "deadline_at": now() + DAY},
    )
    rows = [text_of(row) for row in browser.page("/exceptions").iter("tr") if row.get("data-operation-id")]
    assert [row.split(" Charge order")[0] for row in rows] == [
        "Overdue Pending",
        "Divergent Overdue · Manual review",
        "Permanent failure Manual review",
    ]


def test_a_row_links_to_its_operation(sqlite_database: Database, browser: PageClient) -> None:
    [wanted] = add_operations(sqlite_database, {"operation_id": "a:b~c.d"})
    found = [anchor.get("href") for anchor in by_class(browser.page("/operations"), "primary")]
    assert found == [f"/operations/{wanted.replace(':', '%3A')}"]


def test_what_lies_outside_the_grants_is_not_there(database: Database) -> None:
    [seen, *_] = add_operations(database, {}, {"tenant": "other"}, {"type": "refund_order"})
    browser = browser_on(database, Grant(Role.OPERATOR, "tienda-es", "charge_order"))
    for path in ("/operations", "/exceptions", "/operations?tenant=other&tenant=tienda-es"):
        page = browser.get(path)
        assert ids(page.text) == [seen]
        assert "1 operation" in content(parse(page.text))
    assert "refund_order" not in browser.get("/exceptions").text


def test_text_from_outside_is_shown_and_never_interpreted(sqlite_database: Database, browser: PageClient) -> None:
    fields = ("type", "tenant", "destination", "entity_type", "entity_id", "assigned_to")
    add_operations(sqlite_database, dict.fromkeys(fields, HOSTILE) | {"amount": "1", "currency": "<b>"})
    for path in ("/", "/exceptions", "/operations", f"/operations?{urlencode({'type': HOSTILE, 'q': HOSTILE})}"):
        page = browser.page(path)
        assert "\u202e" not in content(page)
        assert [script for script in page.iter("script") if script.text] == []
        assert "&amp;" in content(page)
        assert "{{ 7*7 }}" in content(page).replace("{{ 7*7 }}".upper(), "{{ 7*7 }}")


@pytest.mark.parametrize(
    ("rows", "path", "says"),
    [
        ([], "/operations", "Not set up yet"),
        ([], "/exceptions", "Not set up yet"),
        ([{"state": "confirmed"}], "/exceptions", "All clear"),
        ([{}], "/exceptions?verdict=correct", "Nothing matches"),
        ([{}], "/operations?state=confirmed", "Nothing matches"),
        ([{"tenant": "other"}], "/operations", "Not set up yet"),
    ],
)
def test_an_empty_list_says_why(sqlite_database: Database, rows: list[dict[str, Any]], path: str, says: str) -> None:
    add_operations(sqlite_database, *rows)
    browser = browser_on(sqlite_database, Grant(Role.SUPPORT, "tienda-es"))
    [shown] = by_class(browser.page(path), "empty-state")
    assert text_of(shown).startswith(says)


def test_a_page_behind_the_end_leads_back_to_the_beginning(sqlite_database: Database, browser: PageClient) -> None:
    add_operations(sqlite_database, {}, {})
    first = browser.get("/operations?limit=1").text
    last = link(first, "next") or ""
    beyond = last.split("after=")[0] + "before=" + last.split("after=")[1]
    page = browser.page(beyond)
    assert "Nothing further" in content(page)
    assert "/operations?limit=1" in links(page)


def test_a_list_of_history_is_counted_up_to_its_cap(
    sqlite_database: Database, browser: PageClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(totals, "CAP", 3)
    add_operations(sqlite_database, *[{"state": "confirmed"}] * 4)
    assert "3+ operations" in content(browser.page("/operations"))
    add_operations(sqlite_database, *[{}] * 5)
    assert "5 operations" in content(browser.page("/exceptions"))
