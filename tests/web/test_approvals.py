"""Deciding on screen: the approver sees the exact effects, nobody decides about their own, and no text is lost."""

from datetime import timedelta
from pathlib import Path

import pytest
from flask import Flask
from sqlalchemy import update

from dashboard.config import Settings
from dashboard.db import Database, transact
from dashboard.models import Operation
from tests import factories
from tests.web.client import PageClient, fields, parse, text_of
from tests.web.lists import app_on, content, enter
from tests.web.repairs import MANAGER, OPERATOR, SUPPORT, add, ask, row_of

POLICIES = """
[destinations.payments]
[types.charge_order]
destination = "payments"
compensation = "refund_order"
partial = true
mask = ["expected.email"]
approvals = { compensate = 1, manager_above = { EUR = "300" } }
[types.refund_order]
destination = "payments"
"""


@pytest.fixture
def app(sqlite_database: Database, settings: Settings, tmp_path: Path) -> Flask:
    """An application under policies that ask for a second person."""
    path = tmp_path / "policies.toml"
    path.write_text(POLICIES)
    return app_on(sqlite_database, settings.model_copy(update={"policies": path}))


def proposed(app: Flask, database: Database, **typed: str) -> PageClient:
    """Support has proposed to compensate `op-1`."""
    browser = enter(app, database, SUPPORT)
    add(database, operation_id="op-1", **factories.seen_twice())
    answer = ask(browser, "op-1", "compensate", **{"reason_code": "charged_twice", **typed})
    assert answer.status_code == 303, answer.text
    return browser


def vote(browser: PageClient, choice: str, **typed: str) -> tuple[int, str]:
    """Open the page of the action, decide, and give the status and what the page that follows says."""
    form = fields(browser.page("/actions/1"))
    hidden = {name: form.get(name, "k") for name in ("csrf_token", "idempotency_key")}
    answer = browser.post(f"/actions/1/{choice}", data=hidden | typed)
    page = browser.page(answer.location) if answer.status_code == 303 else parse(answer.text)
    return answer.status_code, content(page)


def test_a_manager_finds_it_waiting_sees_what_it_does_and_approves(app: Flask, sqlite_database: Database) -> None:
    support = proposed(app, sqlite_database)
    assert "Proposed; nothing is done until it is approved." in content(support.page("/operations/op-1"))
    manager = enter(app, sqlite_database, MANAGER)
    listed = manager.page("/actions?waiting=me")
    assert [row.get("data-action-id") for row in listed.iter("tr") if row.get("data-action-id")] == ["1"]
    counted = [text_of(each) for each in listed.iter("span") if each.get("class") == "nav-count"]
    assert counted == ["1", "1"]
    page = content(manager.page("/actions/1"))
    assert "A new operation is created, “Refund order”: €318.93 for order 452" in page
    assert vote(manager, "approve")[0] == 303
    assert row_of(sqlite_database, "op-1~compensation-1").state == "pending"
    assert "Asked; the effect is still to be verified." in content(manager.page("/actions/1"))


def test_the_claim_of_who_proposed_it_does_not_look_like_an_obstacle(app: Flask, sqlite_database: Database) -> None:
    support = proposed(app, sqlite_database)
    form = fields(support.page("/account"))
    support.post("/operations/op-1/claim", data={"csrf_token": form["csrf_token"], "idempotency_key": "claim-1"})
    manager = enter(app, sqlite_database, MANAGER)
    assert "It cannot be carried out" not in content(manager.page("/actions/1"))
    assert vote(manager, "approve")[0] == 303


def test_who_approves_reads_why_the_effect_could_happen_twice(app: Flask, sqlite_database: Database) -> None:
    proposed(app, sqlite_database)
    assert "Duplication risk" in [
        text_of(each).rpartition(" ")[0] for each in enter(app, sqlite_database, MANAGER).page("/actions/1").iter("h2")
    ]


def test_a_proof_that_grew_old_is_said_before_the_vote_is_refused(app: Flask, sqlite_database: Database) -> None:
    support = enter(app, sqlite_database, SUPPORT)
    add(sqlite_database, operation_id="op-1")
    assert ask(support, "op-1").status_code == 303
    old = update(Operation).values(verdict_at=factories.NOW - timedelta(days=9))
    transact(sqlite_database, lambda session: session.execute(old))
    manager = enter(app, sqlite_database, MANAGER)
    assert "It cannot be carried out as things stand" in content(manager.page("/actions/1"))
    assert vote(manager, "approve")[0] == 409


def test_the_own_proposal_offers_only_to_withdraw_it(app: Flask, sqlite_database: Database) -> None:
    browser = proposed(app, sqlite_database)
    buttons = [text_of(button) for button in browser.page("/actions/1").iter("button")]
    assert "Withdraw it" in buttons
    assert [text for text in buttons if text.startswith(("Approve", "Reject"))] == []
    status, page = vote(browser, "approve")
    assert (status, "Nobody decides about their own proposal." in page) == (403, True)
    assert vote(browser, "withdraw")[0] == 303


def test_above_the_limit_an_operator_is_told_that_a_manager_must(app: Flask, sqlite_database: Database) -> None:
    proposed(app, sqlite_database)
    operator = enter(app, sqlite_database, OPERATOR)
    assert [row.get("data-action-id") for row in operator.page("/actions?waiting=me").iter("tr")][1:] == []
    assert vote(operator, "approve")[0] == 403


def test_a_part_below_the_limit_is_approved_by_an_operator_and_no_more_is_given_back(
    app: Flask, sqlite_database: Database
) -> None:
    browser = enter(app, sqlite_database, SUPPORT)
    add(sqlite_database, operation_id="op-1", **factories.seen_twice())
    for amount, sentence in (("318.94", "318.93 EUR that are left"), ("0", "above zero"), ("1e2", "not an amount")):
        refused = ask(browser, "op-1", "compensate", reason_code="wrong_amount", amount=amount)
        assert (refused.status_code, sentence in content(parse(refused.text))) == (422, True)
    assert ask(browser, "op-1", "compensate", reason_code="wrong_amount", amount="18.93").status_code == 303
    operator = enter(app, sqlite_database, OPERATOR)
    assert "€18.93 for order 452" in content(operator.page("/actions/1"))
    assert vote(operator, "approve")[0] == 303
    child = row_of(sqlite_database, "op-1~compensation-1")
    assert (child.amount, child.expected and child.expected["amount"]) == ("18.93", "18.93")


def test_a_rejection_without_a_reason_keeps_the_text_and_with_one_ends_it(
    app: Flask, sqlite_database: Database
) -> None:
    proposed(app, sqlite_database)
    manager = enter(app, sqlite_database, MANAGER)
    status, page = vote(manager, "reject", note="too short")
    assert (status, "The note says 9 characters" in page, "too short" in page) == (422, True, True)
    assert vote(manager, "reject", note=factories.NOTE)[0] == 303
    assert "Rejected; nothing was done." in content(manager.page("/actions/1"))


def test_a_changed_operation_voids_it_and_the_page_says_so(app: Flask, sqlite_database: Database) -> None:
    proposed(app, sqlite_database)
    manager = enter(app, sqlite_database, MANAGER)
    form = fields(manager.page("/actions/1"))
    change = update(Operation).values(revision=2)
    transact(sqlite_database, lambda session: session.execute(change))
    assert "The operation changed after it was proposed." in content(manager.page("/actions/1"))
    answer = manager.post("/actions/1/approve", data={name: form[name] for name in ("csrf_token", "idempotency_key")})
    assert (answer.status_code, "This proposal is void" in content(parse(answer.text))) == (409, True)
    assert len(list(manager.page("/actions?state=proposed").iter("tr"))) == 0


def test_a_masked_value_that_people_wrote_into_their_words_stays_masked(app: Flask, sqlite_database: Database) -> None:
    browser = enter(app, sqlite_database, SUPPORT)
    add(sqlite_database, operation_id="op-1", expected={"email": "ana@home.example"}, **factories.seen_twice())
    said = {
        "reason_code": "charged_twice",
        "note": "I wrote to ana@home.example about it.",
        "reference": "ana@home.example",
    }
    assert ask(browser, "op-1", "compensate", **said).status_code == 303
    manager = enter(app, sqlite_database, MANAGER)
    assert vote(manager, "reject", note="ana@home.example says it is fine.")[0] == 303
    assert "ana@home.example" not in manager.get("/actions/1").text


def test_a_vote_that_comes_back_after_signing_in_again_decides_nothing(app: Flask, sqlite_database: Database) -> None:
    proposed(app, sqlite_database)
    manager = enter(app, sqlite_database, MANAGER)
    answer = manager.send("/actions/1/approve", note="Typed before.")
    assert (answer.status_code, fields(parse(answer.text))["note"]) == (422, "Typed before.")
    assert row_of(sqlite_database, "op-1").revision == 1


def test_who_has_claimed_it_keeps_others_off_until_it_is_taken_over(app: Flask, sqlite_database: Database) -> None:
    add(sqlite_database, operation_id="op-1")
    ana, eva = enter(app, sqlite_database, SUPPORT), enter(app, sqlite_database, OPERATOR)
    assert ana.send("/operations/op-1/claim", idempotency_key="k").status_code == 303
    assert "You have claimed it until" in content(ana.page("/operations/op-1"))
    answer = eva.get("/operations/op-1/close")
    assert (answer.status_code, 'href="/operations/op-1/claim"' in answer.text) == (409, True)
    assert eva.send("/operations/op-1/claim", idempotency_key="k").status_code == 409
    assert eva.send("/operations/op-1/claim", idempotency_key="k", note="mine").status_code == 422
    assert eva.send("/operations/op-1/claim", idempotency_key="k", note=factories.NOTE).status_code == 303
    assert eva.get("/operations/op-1/close").status_code == 200
    assert eva.send("/operations/op-1/release", idempotency_key="k").status_code == 303
    assert row_of(sqlite_database, "op-1").assigned_to is None
