"""From the banner of any page to the rows an alert is about, to its silence and back, with and without scripts."""

import pytest
from playwright.sync_api import Page, expect

from dashboard.db import Database
from tests.alerting import REASON, add_alerts, add_notice
from tests.browser.axe import page_faults
from tests.browser.conftest import Visit

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("browser")]

HOSTILE = "<img src=x onerror=alert(1)>\u202e" + "x" * 30


def check(page: Page) -> None:
    assert page_faults(page) == []


def firing(page: Page) -> int:
    """How many alerts the banner of the overview tells of."""
    page.goto("/")
    told = page.locator("p.alarm a")
    return int((told.text_content() or "").split()[3]) if told.count() else 0


def silence(page: Page, subject: str) -> None:
    card = page.locator(f'article[data-subject="{subject}"]').first
    card.get_by_role("link", name="Silence").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Silence alerts")
    page.get_by_label("For how long").select_option("1d")
    page.get_by_label("Reason").fill(REASON)
    page.get_by_role("button", name="Silence these alerts").click()
    expect(page.get_by_text("Silenced until")).to_be_visible()


@pytest.mark.parametrize(("width", "dark"), [(1280, False), (1280, True), (390, False), (390, True)])
def test_each_page_of_alerts_is_accessible(database: Database, visit: Visit, *, width: int, dark: bool) -> None:
    [number, _] = add_alerts(database, {"subject": HOSTILE}, {"state": "resolved"})
    add_notice(database, number, state="given_up", last_error="550 " + "y" * 200)
    page = visit("manager", width=width, dark=dark)
    page.locator("p.alarm a").click()
    check(page)
    page.locator("article details summary").first.click()
    check(page)
    page.get_by_role("link", name="Silence ahead of time").click()
    check(page)
    page.get_by_label("Whose alerts").select_option("charge_order")
    page.get_by_role("button", name="Go on").click()
    check(page)
    page.get_by_role("button", name="Silence these alerts").click()
    expect(page.get_by_role("alert")).to_contain_text("Write a note.")
    check(page)


@pytest.mark.parametrize("script", [True, False], ids=["script", "no script"])
def test_the_banner_leads_to_what_fires_and_a_silence_takes_it_away(
    database: Database, visit: Visit, *, script: bool
) -> None:
    add_alerts(database, {"subject": "grant_credit"})
    page = visit("manager", script=script)
    before = firing(page)
    page.locator("p.alarm a").click()
    expect(page.locator("p.alarm")).to_have_count(0)
    silence(page, "grant_credit")
    assert firing(page) == before - 1
    page.goto("/alerts")
    page.locator("tr[data-silence]", has_text="grant_credit").get_by_role("button", name="End it").click()
    expect(page.get_by_text("The silence has ended.")).to_be_visible()
    assert firing(page) == before
    page.goto("/alerts")
    page.locator('article[data-subject="grant_credit"]').get_by_role("link", name="Show the operations").click()
    expect(page).to_have_url("/exceptions?type=grant_credit")
