"""What people come for, done in a real browser from the sign-in on."""

import re

import pytest
from playwright.sync_api import Page, expect
from sqlalchemy import func, select

from dashboard.db import Database, reading
from dashboard.models import AuditEntry, Operation
from tests.browser.axe import page_faults
from tests.browser.conftest import Visit

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("browser")]

NOTE = "The provider's console shows no payment for this order."


def an_operation(database: Database, **columns: str) -> Operation:
    """An operation of the shop with these values."""
    with reading(database) as session:
        return session.scalars(select(Operation).filter_by(**columns).order_by(Operation.id).limit(1)).one()


def state_of(database: Database, operation_id: str) -> str:
    with reading(database) as session:
        return session.scalars(select(Operation.state).where(Operation.operation_id == operation_id)).one()


def refusals(database: Database) -> int:
    with reading(database) as session:
        refused = select(func.count()).where(AuditEntry.action == "requeue", AuditEntry.outcome == "refused")
        return session.scalar(refused) or 0


@pytest.mark.parametrize("script", [True, False], ids=["script", "no-script"])
def test_support_finds_an_order_reads_what_happened_and_leaves_a_note(
    database: Database, visit: Visit, *, script: bool
) -> None:
    stuck = an_operation(database, state="manual_review", type="charge_order", verdict="divergent")
    page = visit("support", script=script)
    page.get_by_role("search").get_by_role("searchbox").fill(str(stuck.idempotency_key))
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(f"/operations/{re.escape(stuck.operation_id)}$"))
    expect(page.get_by_role("heading", level=1)).to_contain_text(stuck.entity_id)
    expect(page.get_by_text("found the effect, but")).to_be_visible()

    page.get_by_role("textbox", name="Note").fill("The customer calls at noon and waits for an answer.")
    page.get_by_role("button", name="Add note").click()
    expect(page.get_by_text("Your note was added.")).to_be_visible()
    expect(page.locator(".timeline")).to_contain_text("The customer calls at noon")


def test_an_operator_requeues_with_evidence_and_the_page_says_it_is_to_be_verified(
    database: Database, visit: Visit
) -> None:
    stuck = an_operation(database, state="manual_review", verdict="absent")
    page = visit("operator")
    page.goto("/exceptions?verdict=absent")
    page.locator(f"tr[data-operation-id='{stuck.operation_id}'] a").first.click()
    page.get_by_role("link", name="Requeue").click()
    expect(page.get_by_role("heading", name="Duplication risk")).to_be_visible()
    assert page_faults(page) == []
    give_evidence(page, NOTE)
    page.get_by_role("button", name=re.compile("^Requeue")).click()

    expect(page).to_have_url(re.compile(f"/operations/{re.escape(stuck.operation_id)}$"))
    expect(page.get_by_text("still to be verified").first).to_be_visible()
    assert state_of(database, stuck.operation_id) == "retry_scheduled"


def test_a_repair_without_evidence_is_refused_in_words_and_keeps_the_typed_text(
    database: Database, visit: Visit
) -> None:
    stuck = an_operation(database, state="manual_review", verdict="absent")
    page = visit("operator")
    page.goto(f"/operations/{stuck.operation_id}/requeue")
    page.get_by_role("textbox", name="Note").fill("too short")
    page.get_by_role("button", name=re.compile("^Requeue")).click()

    expect(page.get_by_role("alert").first).to_be_visible()
    expect(page.get_by_role("textbox", name="Note")).to_have_value("too short")
    assert page_faults(page) == []
    assert state_of(database, stuck.operation_id) == "manual_review"
    assert refusals(database) == 1


def test_two_people_race_and_the_later_one_is_told_by_whom(database: Database, visit: Visit) -> None:
    stuck = an_operation(database, state="manual_review", verdict="absent")
    late = visit("manager")
    late.goto(f"/operations/{stuck.operation_id}/close")
    fast = visit("operator")
    fast.goto(f"/operations/{stuck.operation_id}/requeue")
    give_evidence(fast, NOTE)
    fast.get_by_role("button", name=re.compile("^Requeue")).click()

    give_evidence(late, "This order was cancelled by the shop.")
    late.get_by_role("button", name=re.compile("^Close")).click()
    expect(late.get_by_text("operator@example.com").first).to_be_visible()
    expect(late.get_by_role("textbox", name="Note")).to_have_value("This order was cancelled by the shop.")
    assert state_of(database, stuck.operation_id) == "retry_scheduled"


def test_a_session_that_ends_in_the_middle_of_a_form_loses_no_text(database: Database, visit: Visit) -> None:
    stuck = an_operation(database, state="manual_review", verdict="absent")
    page = visit("operator")
    page.goto(f"/operations/{stuck.operation_id}/requeue")
    give_evidence(page, NOTE)
    page.context.clear_cookies()
    page.get_by_role("button", name=re.compile("^Requeue")).click()
    expect(page.get_by_text(NOTE)).to_be_visible()
    assert state_of(database, stuck.operation_id) == "manual_review"

    page.get_by_label("E-mail").fill("operator@example.com")
    page.get_by_label("Password").fill("prove-it-then-repair-it")
    page.get_by_role("button", name="Sign in").click()
    page.get_by_role("main").get_by_role("button").first.click()
    expect(page.get_by_role("textbox", name="Note")).to_have_value(NOTE)
    page.get_by_role("button", name=re.compile("^Requeue")).click()
    expect(page).to_have_url(re.compile(f"/operations/{re.escape(stuck.operation_id)}$"))
    assert state_of(database, stuck.operation_id) == "retry_scheduled"


def test_a_manager_sees_who_did_what_and_verifies_the_audit_log(database: Database, visit: Visit) -> None:
    stuck = an_operation(database, state="manual_review", verdict="absent")
    operator = visit("operator")
    operator.goto(f"/operations/{stuck.operation_id}/requeue")
    give_evidence(operator, NOTE)
    operator.get_by_role("button", name=re.compile("^Requeue")).click()

    page = visit("manager")
    page.get_by_role("link", name="Audit").click()
    row = page.locator("tr[data-seq]", has_text=stuck.operation_id)
    expect(row).to_contain_text("operator@example.com")
    row.get_by_role("link").first.click()
    expect(page.get_by_text(NOTE)).to_be_visible()
    page.get_by_role("link", name="Audit").first.click()
    page.get_by_role("button", name=re.compile("Verify")).click()
    expect(page.get_by_text(re.compile("intact", re.IGNORECASE)).first).to_be_visible()


def give_evidence(page: Page, note: str) -> None:
    page.get_by_label("Reason").select_option(index=1)
    page.get_by_role("textbox", name="Note").fill(note)
