"""Every number of the overview is the number of rows that its link lists, for any operations and any grants."""

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import parse_qs, urlsplit
from xml.etree.ElementTree import Element

import pytest
import sqlalchemy as sa
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from dashboard.db import Database, transaction
from dashboard.domain.permissions import Grant, Permission, Role, allows
from dashboard.domain.states import OPEN, State
from dashboard.models import Operation
from dashboard.queries.figures import CONFIRMED_DAYS
from tests.web.client import PageClient, parse
from tests.web.lists import add_operations, app_on, browser_on, counts, enter, listed, now

TENANTS, TYPES = ("es", "br"), ("charge_order", "sync & <b>customer")
GRANTS: tuple[tuple[Grant, ...], ...] = (
    (Grant(Role.MANAGER),),
    (Grant(Role.SUPPORT, "es"),),
    (Grant(Role.OPERATOR, "br", TYPES[0]),),
    (Grant(Role.SUPPORT, None, TYPES[1]), Grant(Role.OPERATOR, "es", TYPES[0])),
    (Grant(Role.SUPPORT, "elsewhere"),),
)
# In each bucket and beyond the 30 days of divergence, far from every bound: a busy machine takes minutes.
AGES = [timedelta(minutes=minutes) for minutes in (-30, 2, 38, 180, 900, 4320, 20 * 1440, 40 * 1440)]
VERDICTS = (None, "correct", "absent", "divergent", "ambiguous", "not_applicable", "a word of the host")
NO_COUNT = {"oldest_age_seconds", "oldest_unverified_seconds", "divergence_rate_30d", "confirmed_p95_seconds"}
OTHER_LISTS = {"idempotency_conflicts", "keys_waiting", "actions_to_verify", "approvals_waiting"}

Row = dict[str, Any]


@dataclass(frozen=True)
class Shop:
    """A database to fill again and again, and one browser for each of GRANTS."""

    database: Database
    browsers: Sequence[PageClient]

    def refill(self, rows: Sequence[Row]) -> None:
        with transaction(self.database) as session:
            session.execute(sa.delete(Operation))
        add_operations(self.database, *rows)


@pytest.fixture
def shop(sqlite_database: Database) -> Shop:
    app = app_on(sqlite_database)
    return Shop(sqlite_database, [enter(app, sqlite_database, *grants) for grants in GRANTS])


@st.composite
def rows(draw: st.DrawFn) -> list[Row]:
    choose = draw(st.randoms(use_true_random=False))
    return [row(choose) for _ in range(draw(st.integers(0, 25)))]


def row(choose: random.Random) -> Row:
    """A random operation; many share an instant."""
    created = now().replace(microsecond=choose.choice((0, 1, 999_999))) - choose.choice(AGES)
    state = choose.choice([state.value for state in State] + ["manual_review"] * 4)
    confirmed = created + timedelta(seconds=choose.randrange(9), microseconds=choose.choice((0, 7)))
    return {
        "tenant": choose.choice(TENANTS),
        "type": choose.choice(TYPES),
        "state": state,
        "created_at": created,
        "deadline_at": now() + timedelta(minutes=choose.choice((-600, 600))),
        "verdict": choose.choice(VERDICTS),
        "amount": (amount := choose.choice((None, "0.1", "12.50"))),
        "currency": amount and choose.choice(("EUR", "JPY")),
        "confirmed_at": confirmed if state == "confirmed" and choose.random() < 0.9 else None,
    }


@settings(
    max_examples=5,
    deadline=None,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],  # to shrink shops of pages takes minutes
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(rows=rows(), who=st.integers(0, len(GRANTS) - 1))
def test_every_number_of_the_overview_lists_as_many_rows(shop: Shop, rows: list[Row], who: int) -> None:
    shop.refill(rows)
    check_overview(shop.browsers[who], [each for each in rows if sees(GRANTS[who], each)])


def test_every_number_lists_as_many_rows_on_every_engine(database: Database) -> None:
    who = 3
    choose = random.Random(who)  # noqa: S311 - rows, not secrets
    rows = [row(choose) for _ in range(30)]
    add_operations(database, *rows)
    browser = browser_on(database, *GRANTS[who])
    check_overview(browser, [each for each in rows if sees(GRANTS[who], each)])
    for address in ("/types", *{link for link in hrefs(browser.page("/types")) if link.startswith("/types/")}):
        check_lists(browser, address)


def hrefs(page: Element) -> list[str]:
    """Where the links of a page lead."""
    return [each.get("href", "") for each in page.iter("a")]


def check_lists(browser: PageClient, address: str) -> None:
    """Each number that is a count of operations lists as many."""
    found = counts(browser.page(address))
    told = [(value, url) for value, url, name in found if name is None or name in {"open", "exceptions", "overdue"}]
    for value, url in told:
        if url.startswith(("/operations", "/exceptions")):
            assert (url, len(listed(browser, url))) == (url, int(value))


def test_the_navigation_counts_what_the_queue_lists(shop: Shop) -> None:
    choose = random.Random(1)  # noqa: S311 - rows, not secrets
    shop.refill([row(choose) for _ in range(60)])
    for browser in shop.browsers:
        item = next(each for each in browser.page("/exceptions").iter("a") if each.get("href") == "/exceptions")
        shown = [count.text for count in item.iter("span")]
        found = len(listed(browser, "/exceptions"))
        assert shown == ([str(found)] if found else [])


def test_the_time_to_confirmation_is_that_of_the_rows_it_lists(shop: Shop) -> None:
    start = now() - timedelta(days=2)
    # The newest 1,000 would end within the 200 of one instant.
    ends = [start] * 200 + [start + timedelta(seconds=each) for each in range(1, 851)]
    shop.refill([{"state": "confirmed", "created_at": start - timedelta(hours=1), "confirmed_at": at} for at in ends])
    value, url = named(shop.browsers[0])["confirmed_p95_seconds"]
    assert len(listed(shop.browsers[0], url, limit=200)) == 850
    assert value == str(3600 + 808)


def sees(grants: Sequence[Grant], row: Mapping[str, Any]) -> bool:
    return allows(grants, Permission.BROWSE, tenant=row["tenant"], type=row["type"])


def named(browser: PageClient) -> dict[str, tuple[str, str]]:
    """Value and link of each figure, by its name."""
    return {name: (value, url) for value, url, name in counts(browser.page("/")) if name}


def check_overview(browser: PageClient, rows: Sequence[Row]) -> None:
    found = counts(parse(browser.get("/").text))
    for value, url, name in found:
        if name not in NO_COUNT | OTHER_LISTS:
            assert (name, url, len(listed(browser, url))) == (name, url, int(value))
    figures = {name: (value, url) for value, url, name in found if name}
    assert {name: int(figures[name][0]) for name, _ in expected(rows, now()) if name in figures} == (
        dict(expected(rows, now())) if figures else {}
    )
    if figures:
        check_oldest(browser, *figures["oldest_age_seconds"], rows)
        check_divergence(browser, *figures["divergence_rate_30d"], rows)
        check_confirmation(browser, *figures["confirmed_p95_seconds"], rows)


def expected(rows: Sequence[Row], at: datetime) -> Iterator[tuple[str, int]]:
    """The figures as the design defines them."""
    live = [row for row in rows if row["state"] in OPEN]
    conditions: dict[str, Callable[[Row], bool]] = {
        "open": lambda _row: True,
        "overdue": lambda row: row["deadline_at"] < at,
        "exceptions": lambda row: row["state"] == "manual_review" or row["deadline_at"] < at,
        **{
            state: lambda row, state=state: row["state"] == state  # type: ignore[misc]
            for state in ("manual_review", "awaiting_confirmation", "retry_scheduled")
        },
    }
    for name, holds in conditions.items():
        yield name, sum(holds(row) for row in live)


def check_oldest(browser: PageClient, value: str, url: str, rows: Sequence[Row]) -> None:
    live = [row["created_at"] for row in rows if row["state"] in OPEN]
    assert len(listed(browser, url)) == len(live)
    if not live:
        assert value == ""
        return
    assert abs(int(value) - (now() - min(live)).total_seconds()) < 600


def check_divergence(browser: PageClient, value: str, url: str, rows: Sequence[Row]) -> None:
    judged = [
        row["verdict"]
        for row in rows
        if row["verdict"] in VERDICTS[1:6] and now() - row["created_at"] < timedelta(days=30)
    ]
    divergent = judged.count("divergent")
    assert len(listed(browser, url)) == divergent
    assert value == (f"{divergent / len(judged):.4f}" if judged else "")


def check_confirmation(browser: PageClient, value: str, url: str, rows: Sequence[Row]) -> None:
    newest = now() - timedelta(days=CONFIRMED_DAYS)
    recent = [row for row in rows if row["confirmed_at"] and row["confirmed_at"] > newest]
    times = sorted(row["confirmed_at"] - row["created_at"] for row in recent)
    if not times:
        assert value == ""
        return
    assert parse_qs(urlsplit(url).query)["confirmed_from"][0].endswith("Z")
    assert len(listed(browser, url)) == len(times)
    assert value == str(int(times[(len(times) * 95 + 99) // 100 - 1].total_seconds()))
