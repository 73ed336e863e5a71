"""Every page keeps the accessibility rules and fits the screen, light and dark, wide and narrow."""

import re

import pytest
from playwright.sync_api import expect
from sqlalchemy import select
from sqlalchemy.orm import Session

from dashboard.db import Database, reading, transact
from dashboard.models import IdempotencyConflict, IdempotencyRecord, Operation
from tests.browser.axe import page_faults
from tests.browser.conftest import Visit

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("browser")]

LOOKS = [(1280, False), (1280, True), (390, False), (390, True)]


def with_conflict_and_tombstone(database: Database) -> tuple[int, int]:
    """Two records that the demo's shop lacks: one that other content came under, and one whose answer was purged."""

    def unit(session: Session) -> tuple[int, int]:
        settled = select(IdempotencyRecord).where(IdempotencyRecord.state == "completed").limit(2)
        conflicted, purged = session.scalars(settled).all()
        conflicted.conflict_count = 2
        told = {"fields": ["amount", "currency"], "actor_id": "host", "correlation_id": "trace-1"}
        at = conflicted.created_at
        session.add(IdempotencyConflict(record_id=conflicted.id, at=at, fingerprint="0" * 64, **told))
        purged.purged_at = purged.expires_at = purged.created_at
        return conflicted.id, purged.id

    return transact(database, unit)


def paths(database: Database) -> list[str]:
    """One address of each screen."""
    with reading(database) as session:
        stuck = session.scalars(
            select(Operation.operation_id).where(Operation.state == "manual_review", Operation.verdict == "divergent")
        ).first()
        record = session.scalars(select(IdempotencyRecord.id)).first()
        masked = session.scalars(select(Operation.operation_id).where(Operation.type == "sync_customer")).first()
    conflicted, purged = with_conflict_and_tombstone(database)
    return [
        "/",
        "/exceptions",
        "/operations",
        "/operations?q=nothing-like-this",
        "/operations?state=bad",
        f"/operations/{stuck}",
        f"/operations/{stuck}/compensate",
        f"/operations/{masked}",
        f"/operations/{masked}/reveal",
        "/actions",
        "/bulk",
        "/alerts",
        "/alerts/silence",
        "/alerts/silence?subject=charge_order",
        "/idempotency",
        "/idempotency?stuck=late",
        f"/idempotency/{record}",
        f"/idempotency/{conflicted}",
        f"/idempotency/{purged}",
        "/audit",
        "/audit/1",
        "/reports",
        "/reconciliation",
        "/reconciliation/windows",
        "/outbox",
        "/evidence",
        "/trends",
        "/types",
        "/types?q=nothing-like-this",
        "/types/charge_order",
        "/types/charge_order?days=7&tenant=nobody",
        "/facts?fact=retry",
        "/policies",
        "/policies/charge_order",
        "/account",
        "/no-such-page",
    ]


ADMIN_PATHS = [
    "/alerts",
    "/audit",
    "/admin/users",
    "/admin/users?q=nobody-like-this",
    "/admin/users/new",
    "/admin/users/1",
    "/admin/users/1/grant?role=operator&tenant=tienda-es",
    "/admin/users/2/revoke?role=operator",
    "/admin/users/2/disable",
    "/admin/tokens",
    "/admin/new-token",
    "/account",
]


@pytest.mark.parametrize(("width", "dark"), LOOKS)
@pytest.mark.parametrize("role", ["manager", "admin"])
def test_pages_are_accessible_and_never_wider_than_the_screen(
    database: Database, visit: Visit, *, role: str, width: int, dark: bool
) -> None:
    page = visit(role, width=width, dark=dark)
    found = {}
    for path in paths(database) if role == "manager" else ADMIN_PATHS:
        page.goto(path)
        if broken := page_faults(page):
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
