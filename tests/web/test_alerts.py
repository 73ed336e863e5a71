"""The page of alerts and the banner of every page: what fires, for whom, what to do, and whether anybody looks."""

from pathlib import Path
from xml.etree.ElementTree import Element

import pytest

from dashboard.config import Settings
from dashboard.db import Database
from dashboard.domain.permissions import Grant, Role
from tests.alerting import HOUR, REASON, add_alerts, add_notice, add_silence, evaluated
from tests.web.client import PageClient, text_of
from tests.web.lists import app_on, browser_on, content, enter, link, now, statements

HOSTILE = '<script>alert("1")</script>\N{RIGHT-TO-LEFT OVERRIDE}%(figure)s'
LIMITS = """
[alerts]
dead_letters = { above = 0 }
[defaults.alerts]
accumulation = { above = 20, for = "10m" }
"""
INSTALLATION = {"rule": "dead_letters", "subject": "", "figure": "2", "threshold": "0"}


def shown(page: Element) -> list[tuple[str, str]]:
    """The alerts of a page as (rule, subject)."""
    return [(each.get("data-rule", ""), each.get("data-subject", "")) for each in page.iter("article")]


def banner(page: Element) -> str | None:
    found = [text_of(each) for each in page.iter("p") if "alarm" in (each.get("class") or "").split()]
    return found[0] if found else None


def watching(database: Database, settings: Settings, tmp_path: Path, text: str = LIMITS) -> PageClient:
    """A manager's browser before an application whose policy file has limits."""
    path = tmp_path / "policies.toml"
    path.write_text(text)
    return enter(app_on(database, settings.model_copy(update={"policies": path})), database, Grant(Role.MANAGER))


def test_an_alert_says_what_is_wrong_what_to_do_and_leads_to_its_rows(database: Database) -> None:
    add_alerts(database, {}, {"rule": "relay", "subject": "", "figure": "5400", "threshold": "900", "cause": "away"})
    page = browser_on(database, Grant(Role.MANAGER)).page("/alerts")
    words = content(page)
    assert "Firing 2" in words
    assert "What to do: Look whether one cause is behind most of them" in words
    assert "Above its limit for 2 h, firing for 2 h" in words
    addresses = [each.get("href") for each in page.iter("a")]
    assert "/exceptions?type=charge_order" in addresses
    assert "/alerts/silence?subject=charge_order&rule=accumulation" in addresses


def test_each_group_has_its_own_place(database: Database) -> None:
    add_alerts(
        database,
        {"state": "pending", "subject": "ship_order"},
        {"state": "resolved", "subject": "sync_customer"},
        INSTALLATION,
        {},
    )
    add_silence(database, subject="", rule="dead_letters")
    page = browser_on(database, Grant(Role.MANAGER)).page("/alerts")
    assert shown(page) == [("accumulation", "charge_order"), ("accumulation", "ship_order"), ("dead_letters", "")]
    words = content(page)
    assert "May fire soon 1" in words
    assert f": {REASON}" in words
    assert "sync_customer" in words.partition("Over The latest end first")[2]


@pytest.mark.parametrize(
    ("grant", "seen"),
    [
        (Grant(Role.SUPPORT), ["", "charge_order", "ship_order"]),
        (Grant(Role.OPERATOR), ["", "charge_order", "ship_order"]),
        (Grant(Role.MANAGER), ["", "charge_order", "ship_order"]),
        (Grant(Role.ADMIN), [""]),
        (Grant(Role.OPERATOR, None, "ship_order"), ["ship_order"]),
        (Grant(Role.MANAGER, "tienda-es"), []),
    ],
)
def test_who_sees_what_and_is_told_of_it_on_every_page(
    sqlite_database: Database, grant: Grant, seen: list[str]
) -> None:
    add_alerts(sqlite_database, {}, {"subject": "ship_order"}, INSTALLATION)
    browser = browser_on(sqlite_database, grant)
    page = browser.page("/alerts")
    assert sorted(subject for _, subject in shown(page)) == seen
    assert ("No alerts are for you" in content(page)) == (not seen)
    told = banner(browser.page("/account"))
    assert told == (f"Alerts that fire: {len(seen)} See what to do" if seen else None)
    assert banner(page) is None


@pytest.mark.parametrize(
    ("role", "may"),
    [(Role.SUPPORT, set[str]()), (Role.OPERATOR, {"charge_order"}), (Role.MANAGER, {"charge_order", ""})],
)
def test_only_who_may_silence_is_offered_to(sqlite_database: Database, role: Role, may: set[str]) -> None:
    add_alerts(sqlite_database, {}, INSTALLATION)
    page = browser_on(sqlite_database, Grant(role)).page("/alerts")
    offered = [each.get("href", "") for each in page.iter("a") if "/alerts/silence?" in each.get("href", "")]
    assert {each.partition("subject=")[2].partition("&")[0] for each in offered} == may


def test_an_admin_gets_no_link_to_rows_they_may_not_open(sqlite_database: Database) -> None:
    audit = {"rule": "audit", "subject": "", "figure": "7200", "threshold": "3600", "cause": "old"}
    add_alerts(sqlite_database, INSTALLATION, audit)
    browser = browser_on(sqlite_database, Grant(Role.ADMIN))
    page = browser.page("/alerts")
    rows = [each for each in page.iter("a") if "Show the" in text_of(each)]
    assert [each.get("href") for each in rows] == ["/audit"]
    assert browser.get("/audit").status_code == 200


def test_silenced_pending_and_past_alerts_ring_no_bell(database: Database) -> None:
    add_alerts(database, {}, {"subject": "ship_order", "state": "pending"}, {"state": "resolved"})
    browser = browser_on(database, Grant(Role.MANAGER))
    assert banner(browser.page("/account")) == "Alerts that fire: 1 See what to do"
    add_silence(database, rule="age")
    assert banner(browser.page("/account")) is not None
    add_silence(database)
    assert banner(browser.page("/account")) is None


@pytest.mark.parametrize(("number", "told"), [(99, "99"), (100, "99+"), (150, "99+")])
def test_the_banner_counts_up_to_99(database: Database, number: int, told: str) -> None:
    add_alerts(database, *({"subject": f"type_{each}"} for each in range(number)))
    page = browser_on(database).page("/account")
    assert banner(page) == f"Alerts that fire: {told} See what to do"


@pytest.mark.parametrize("ending", ["ended_at", "ends_at"])
def test_a_silence_that_is_over_silences_nothing(sqlite_database: Database, ending: str) -> None:
    add_alerts(sqlite_database, {})
    add_silence(sqlite_database, **{ending: now() - HOUR})
    browser = browser_on(sqlite_database)
    assert banner(browser.page("/account")) is not None
    assert "Silences in force" not in content(browser.page("/alerts"))


def test_hostile_names_are_text(sqlite_database: Database) -> None:
    name = HOSTILE[:64]
    [number] = add_alerts(sqlite_database, {"subject": name})
    add_notice(sqlite_database, number, state="given_up", last_error=HOSTILE, recipient=HOSTILE, sent_at=None)
    add_silence(sqlite_database, subject=name, reason=HOSTILE, created_by=HOSTILE)
    words = content(browser_on(sqlite_database, Grant(Role.MANAGER)).page("/alerts"))
    assert words.count('<script>alert("1")</script>\\u202e%(figure)s') >= 6


def test_who_was_told_is_said_and_what_did_not_arrive(database: Database) -> None:
    [number] = add_alerts(database, {})
    add_notice(database, number)
    add_notice(database, number, receiver="mail", recipient="a@shop.example", state="given_up", last_error="550 no")
    for _ in range(5):
        add_notice(database, number, kind="repeat", state="waiting", sent_at=None)
    words = content(browser_on(database).page("/alerts"))
    assert "Notices: 7" in words
    assert "It lasts · Webhook · Not sent yet just now" in words
    assert "and 2 before" in words


def test_a_storm_counts_every_alert_and_notice(sqlite_database: Database) -> None:
    numbers = add_alerts(sqlite_database, *({"subject": f"type_{number}"} for number in range(210)))
    for number in numbers[:60]:
        for _ in range(6):
            add_notice(sqlite_database, number)
    words = content(browser_on(sqlite_database).page("/alerts"))
    assert words.count("Notices: 6") == 60
    assert words.count("and 1 before") == 60
    assert "Firing 210" in words


def test_the_page_says_whether_anybody_looks_and_is_told(
    sqlite_database: Database, settings: Settings, tmp_path: Path
) -> None:
    browser = watching(sqlite_database, settings, tmp_path)
    assert "Nobody looks yet" in content(browser.page("/alerts"))
    evaluated(sqlite_database, unreadable="reconciler")
    words = content(browser.page("/alerts"))
    assert "Nothing fires All limits were looked at just now" in words
    assert "Their alerts stay as they were: reconciler." in words
    assert "Nobody is told of alerts" in words
    evaluated(sqlite_database, ago=HOUR)
    assert "Nobody has looked since 60 minutes ago" in content(browser.page("/alerts"))


def test_without_limits_it_says_that_nothing_is_watched(sqlite_database: Database) -> None:
    words = content(browser_on(sqlite_database).page("/alerts"))
    assert ("Nothing is watched" in words, "Nobody looks yet" in words) == (True, False)


def test_a_pending_alert_says_when_it_will_fire(sqlite_database: Database, settings: Settings, tmp_path: Path) -> None:
    add_alerts(sqlite_database, {"state": "pending", "since": now()})
    words = content(watching(sqlite_database, settings, tmp_path).page("/alerts"))
    assert "; fires in 10 minutes if it stays so" in words


def test_an_alert_back_within_its_limit_says_when_it_is_over(sqlite_database: Database) -> None:
    add_alerts(sqlite_database, {"clear_since": now()})
    assert "; back within it, over in 5 minutes if it stays so" in content(browser_on(sqlite_database).page("/alerts"))


def test_what_a_newer_release_wrote_breaks_no_page(sqlite_database: Database) -> None:
    relay = {"rule": "relay", "subject": "", "cause": "newer", "about": "hook"}
    add_alerts(sqlite_database, {"rule": "newer"}, {"rule": "newer", "state": "resolved"}, relay)
    browser = browser_on(sqlite_database)
    assert shown(browser.page("/alerts")) == [("relay", "")]
    assert banner(browser.page("/account")) == "Alerts that fire: 1 See what to do"


def test_what_is_over_comes_in_pages(database: Database) -> None:
    add_alerts(database, *({"state": "resolved", "since": now() - each * HOUR} for each in range(2, 9)))
    browser, following, found = browser_on(database), "/alerts?limit=3", list[str]()
    while following:
        answer = browser.get(following)
        found += answer.text.split('<tr data-alert="')[1:]
        following = link(answer.text, "next") or ""
    assert [each.partition('"')[0] for each in found] == [str(number) for number in range(1, 8)]


def test_how_much_is_asked_does_not_grow_with_what_there_is(database: Database) -> None:
    browser = browser_on(database, Grant(Role.MANAGER))
    with statements(database) as few:
        add_alerts(database, {})
        browser.page("/alerts")
    rows = [{"subject": f"type_{number}", "state": state} for number in range(40) for state in ("firing", "resolved")]
    numbers = add_alerts(database, *rows)
    for number in numbers[:9]:
        add_notice(database, number)
    add_silence(database, subject="type_1")
    with statements(database) as many:
        browser.page("/alerts")
    assert len([each for each in many if "alert" in each]) <= len([each for each in few if "alert" in each])


def test_no_page_asks_anything_more_for_its_banner(database: Database) -> None:
    browser = browser_on(database)
    with statements(database) as quiet:
        browser.page("/account")
    add_alerts(database, {}, {"subject": "ship_order"})
    with statements(database) as alarmed:
        browser.page("/account")
    assert len(alarmed) == len(quiet)
    assert len([each for each in alarmed if "alerts" in each]) == 1
