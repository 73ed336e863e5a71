"""Plans on screen: from ticked rows or a filter to a plan, its evidence, its approval and its progress."""

import re

import pytest
from werkzeug.test import TestResponse

from dashboard.db import Database, transact
from dashboard.domain.permissions import Grant, Role
from dashboard.domain.policy import Policies
from dashboard.services import bulk_runs
from tests import factories
from tests.web.client import PageClient, heading, parse, text_of
from tests.web.conftest import SignIn

FORM = {"idempotency_key": "step-1", "reason_code": "duplicate", "note": factories.NOTE}


@pytest.fixture
def ids(sqlite_database: Database) -> list[str]:
    """Three operations in review, worth 956.79 euros together, and one that has ended."""

    def unit(session: object) -> list[str]:
        given = [factories.operation(session) for _ in range(3)]  # type: ignore[arg-type]
        factories.operation(session, state="confirmed")  # type: ignore[arg-type]
        return [each.operation_id for each in given]

    return transact(sqlite_database, unit)


def make(browser: PageClient, **fields: object) -> TestResponse:
    given = {"idempotency_key": "plan-1", "action": "close", "list": "exceptions", "which": "ticked"}
    return browser.send("/bulk", **{**given, **fields})


def planned(browser: PageClient, ids: list[str], **fields: object) -> str:
    answer = make(browser, operation_id=ids, **fields)
    assert answer.status_code == 303
    return str(answer.location)


def run(database: Database) -> None:
    while bulk_runs.run_due(database, policies=Policies()):
        pass


def counts(page: str) -> dict[str, str]:
    return dict(re.findall(r'value="(\d+)" data-outcome="(\w+)"', page)[i][::-1] for i in range(6))


def test_a_list_offers_boxes_and_what_to_do_with_the_ticked(sign_in: SignIn, ids: list[str]) -> None:
    page = sign_in("support").page("/exceptions")
    boxes = [box.get("value") for box in page.iter("input") if box.get("type") == "checkbox"]
    assert set(boxes) >= set(ids)
    assert [form.get("action") for form in page.iter("form")].count("/bulk") == 1


def test_ticked_rows_become_a_plan_that_is_sent_with_evidence_and_carried_out(
    sqlite_database: Database, sign_in: SignIn, ids: list[str]
) -> None:
    browser = sign_in("operator")
    plan = planned(browser, ids)
    draft = browser.get(plan).text
    assert "€956.79" in draft
    assert browser.send(f"{plan}/start", **FORM, requested_by="x@example.com").status_code == 303
    run(sqlite_database)
    done = counts(browser.get(plan).text)
    assert done == {"left": "0", "done": "3", "skipped": "0", "failed": "0", "ineligible": "0", "total": "3"}
    operation = browser.get(f"/operations/{ids[0]}").text
    assert f'href="{plan}"' in operation
    action = re.search(r'href="(/actions/\d+)"', operation)
    assert action
    assert f'href="{plan}"' in browser.get(action[1]).text


def test_all_that_match_the_filter_become_a_plan(sign_in: SignIn, ids: list[str]) -> None:
    browser = sign_in("operator")
    answer = make(browser, which="all", type="charge_order")
    assert text_of(next(browser.page(str(answer.location)).iter("h1"))) == "Close 3 operations"
    assert make(browser, which="all", type="no-such-type", idempotency_key="plan-2").status_code == 422


@pytest.mark.parametrize(
    "fields", [{}, {"operation_id": ["unknown"]}, {"action": "explode"}, {"which": "all", "state": "bad"}]
)
def test_what_is_no_plan_is_said_and_nothing_is_made(sign_in: SignIn, fields: dict[str, object]) -> None:
    browser = sign_in("operator")
    answer = make(browser, **fields)
    assert (answer.status_code, heading(answer)) == (422, "Many at once")
    assert "No plans yet" in browser.get("/bulk").text


def test_a_choice_that_comes_back_after_signing_in_is_shown_and_not_made(sign_in: SignIn, ids: list[str]) -> None:
    browser = sign_in("operator")
    answer = browser.send("/bulk", action="close", list="exceptions", which="ticked", operation_id=ids)
    assert (answer.status_code, answer.text.count('name="operation_id"')) == (422, 3)


def test_bad_evidence_shows_the_page_again_with_everything_typed(sign_in: SignIn, ids: list[str]) -> None:
    browser = sign_in("operator")
    plan = planned(browser, ids)
    answer = browser.send(f"{plan}/start", idempotency_key="step-1", note="too short", canary="many")
    assert answer.status_code == 422
    assert "too short</textarea>" in answer.text
    assert "Give a whole number from 1 to 10000" in answer.text
    back = browser.send(f"{plan}/start", note=factories.NOTE)
    assert (back.status_code, "Your text is back" in back.text) == (422, True)


def test_nobody_approves_their_own_plan_on_screen(sign_in: SignIn, ids: list[str]) -> None:
    """Fault 26, through bulk on screen; fields that name somebody else change nothing."""
    support, operator = sign_in("support"), sign_in("operator")
    plan = planned(support, ids)
    support.send(f"{plan}/start", **FORM)
    sent = {"idempotency_key": "vote-1", "voter": "operator@shop.example", "actor": "operator@shop.example"}
    own = support.send(f"{plan}/approve", **sent)
    assert (own.status_code, "Nobody decides about their own proposal" in own.text) == (403, True)
    assert "Approve: Close 3 operations" in operator.get(plan).text
    assert operator.send(f"{plan}/approve", idempotency_key="vote-1").status_code == 303
    assert "Running" in operator.get(plan).text


def test_a_plan_outside_the_grants_is_not_there(sign_in: SignIn, ids: list[str]) -> None:
    plan = planned(sign_in("operator"), ids)
    other = sign_in(None, Grant(Role.OPERATOR, "elsewhere"))
    assert other.get(plan).status_code == 404
    assert other.send(f"{plan}/stop", idempotency_key="step-1").status_code == 404


def test_progress_is_a_part_that_fetches_itself_while_it_runs(
    sqlite_database: Database, sign_in: SignIn, ids: list[str]
) -> None:
    browser = sign_in("operator")
    plan = planned(browser, ids)
    browser.send(f"{plan}/start", **FORM, canary="1")
    part = browser.get(f"{plan}/progress", headers={"HX-Request": "true"}).text
    assert ('hx-trigger="every 2s"' in part, "<html" in part) == (True, False)
    run(sqlite_database)
    part = browser.get(f"{plan}/progress", headers={"HX-Request": "true"}).text
    assert ('hx-trigger="every 2s"' in part, "Waits for your go" in part) == (False, True)
    assert browser.get(f"{plan}/progress").location == plan
    assert browser.send(f"{plan}/resume", idempotency_key="go-1").status_code == 303
    assert 'hx-trigger="every 2s"' not in browser.get(f"{plan}?paused=1").text


def test_rows_are_listed_by_what_became_of_them(sqlite_database: Database, sign_in: SignIn, ids: list[str]) -> None:
    browser = sign_in("operator")
    plan = planned(browser, ids)
    browser.send(f"{plan}/start", **FORM, canary="1")
    run(sqlite_database)
    listed = [row.get("data-operation-id") for row in parse(browser.get(f"{plan}?outcome=left").text).iter("tr")]
    assert [each for each in listed if each] == ids[1:]
    first = browser.get(f"{plan}?limit=1")
    assert "Next" in first.text
