"""Every page keeps the accessibility rules and fits the screen, light and dark, wide and narrow."""

import re

import pytest
from playwright.sync_api import expect
from sqlalchemy import select

from dashboard.db import Database, reading
from dashboard.models import IdempotencyRecord, Operation
from tests.browser.axe import broken_rules
from tests.browser.conftest import Visit

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("browser")]

LOOKS = [(1280, False), (1280, True), (390, False), (390, True)]


def paths(database: Database) -> list[str]:
    """One address of each screen."""
    with reading(database) as session:
        stuck = session.scalars(
            select(Operation.operation_id).where(Operation.state == "manual_review", Operation.verdict == "divergent")
        ).first()
        record = session.scalars(select(IdempotencyRecord.id)).first()
    return [
        "/",
        "/exceptions",
        "/operations",
        "/operations?q=nothing-like-this",
        "/operations?state=bad",
        f"/operations/{stuck}",
        f"/operations/{stuck}/compensate",
        "/actions",
        "/idempotency",
        f"/idempotency/{record}",
        "/audit",
        "/audit/1",
        "/reconciliation",
        "/reconciliation/windows",
        "/outbox",
        "/evidence",
        "/policies",
        "/policies/charge_order",
        "/account",
        "/no-such-page",
    ]


@pytest.mark.parametrize(("width", "dark"), LOOKS)
def test_pages_are_accessible_and_never_wider_than_the_screen(
    database: Database, visit: Visit, *, width: int, dark: bool
) -> None:
    page = visit("manager", width=width, dark=dark)
    found = {}
    for path in paths(database):
        page.goto(path)
        overflow = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        broken = broken_rules(page) + ([f"wider than the screen by {overflow}"] if overflow > 0 else [])
        if broken:
            found[path] = broken
    assert found == {}


def test_filtering_takes_the_part_it_needs_and_leaves_the_address_to_share(visit: Visit) -> None:
    page = visit("operator")
    page.goto("/operations")
    page.evaluate("window.stayed = true")
    page.get_by_role("searchbox", name="Id begins with").fill("charge-order")
    page.get_by_role("button", name="Apply").click()
    expect(page).to_have_url(re.compile("q=charge-order"))
    for row in page.locator("tr[data-operation-id]").all():
        assert str(row.get_attribute("data-operation-id")).startswith("charge-order")
    assert page.evaluate("window.stayed") is True


def test_keys_move_through_the_queue_and_open_a_row(visit: Visit) -> None:
    page = visit("operator")
    page.goto("/exceptions")
    first = page.locator("tr[data-operation-id]").first.get_attribute("data-operation-id")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(f"/operations/{re.escape(str(first))}$"))
