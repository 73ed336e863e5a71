"""A plan in the browser: ticked by key, sent with evidence, watched live, and accessible at each step."""

import pytest
from playwright.sync_api import Page, expect

from dashboard.cli.demo_shop import POLICIES
from dashboard.db import Database
from dashboard.services import bulk_runs
from dashboard.services.policies import load_policies
from tests import factories
from tests.browser.axe import page_faults
from tests.browser.conftest import Visit

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("browser")]


def check(page: Page) -> None:
    assert page_faults(page) == []


@pytest.mark.parametrize(("width", "dark"), [(1280, False), (390, True)])
def test_a_plan_is_made_of_ticked_rows_and_followed_live(
    database: Database, visit: Visit, *, width: int, dark: bool
) -> None:
    page = visit("operator", width=width, dark=dark)
    page.goto("/exceptions?state=manual_review")
    for key in "jxjx":
        page.keyboard.press(key)
    page.get_by_label("Many at once").select_option("close")
    page.get_by_role("button", name="Plan for the ticked ones").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Close 2 operations")
    check(page)
    page.get_by_label("Reason").select_option("duplicate")
    page.get_by_label("Note").fill(factories.NOTE)
    page.get_by_label("First only").fill("1")
    page.get_by_role("button", name="Close 2 operations").click()
    expect(page.get_by_role("button", name="Close 2 operations")).to_have_count(0)
    check(page)
    page.evaluate("window.stayed = true")
    while bulk_runs.run_due(database, policies=load_policies(POLICIES)):
        pass
    expect(page.locator("[data-outcome=done]")).to_have_text("1")
    assert page.evaluate("window.stayed") is True
    page.get_by_role("link", name="Show the plan as it is now").click()
    expect(page.get_by_role("button", name="Go on with 1 operation")).to_be_visible()
    check(page)
    page.goto("/bulk")
    check(page)
