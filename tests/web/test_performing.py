"""Asking for an action by its form: done once with evidence, and otherwise nothing changed and nothing typed lost."""

from typing import Any

import pytest

from dashboard.db import Database
from dashboard.domain.permissions import Grant, Role
from tests import factories
from tests.web.client import PageClient, fields, heading, parse
from tests.web.conftest import AddUser, SignIn
from tests.web.lists import browser_on, content
from tests.web.repairs import EVIDENCE, MANAGER, OPERATOR, SUPPORT, add, ask, form_of, open_form, row_of, stored

NOTHING = {"events": 0, "actions": 0, "done": 0, "refused": 0}
TYPED = '<b>Seen</b> "twice" & {{ 7*7 }}'


def test_a_requeue_with_evidence_is_done_once_and_promises_nothing(database: Database) -> None:
    browser, operation_id = browser_on(database, OPERATOR), add(database)
    answer = ask(browser, operation_id)
    assert (answer.status_code, answer.location) == (303, f"/operations/{operation_id}")
    assert stored(database) == {"events": 1, "actions": 1, "done": 1, "refused": 0}
    page = content(browser.page(answer.location))
    assert "Requeued: scheduled for another attempt now. The effect is still to be verified." in page
    assert "Asked; the effect is still to be verified." in page
    assert row_of(database, operation_id).state == "retry_scheduled"


def test_the_same_form_sent_twice_acts_once(database: Database) -> None:
    browser, operation_id = browser_on(database, OPERATOR), add(database)
    hidden = open_form(browser, operation_id)
    answers = [browser.post(f"/operations/{operation_id}/requeue", data=hidden | EVIDENCE) for _ in range(2)]
    assert [answer.location for answer in answers] == [f"/operations/{operation_id}"] * 2
    assert stored(database) == {"events": 1, "actions": 1, "done": 1, "refused": 0}
    assert "Nothing was done twice." in content(browser.page(f"/operations/{operation_id}"))


@pytest.mark.parametrize(
    ("typed", "field", "sentence"),
    [
        ({"note": ""}, "note", "Write a note."),
        ({"note": "fourteen chars"}, "note", "The note says 14 characters"),
        ({"note": "short" + " " * 40 + "."}, "note", "The note says 7 characters"),
        ({"reason_code": ""}, "reason_code", "Choose a reason."),
        ({"reason_code": "because"}, "reason_code", "Choose one of the reasons in the list."),
        ({"reference": "x" * 501}, "reference", "The reference has 501 characters"),
        ({"revision": ""}, "evidence", "The form came without the revision"),
        ({"revision": "one"}, "evidence", "The form came without the revision"),
        ({"idempotency_key": ""}, "evidence", "The form came without its key."),
    ],
)
def test_bad_evidence_changes_nothing_and_loses_nothing(
    sqlite_database: Database, typed: dict[str, str], field: str, sentence: str
) -> None:
    browser, operation_id = browser_on(sqlite_database, OPERATOR), add(sqlite_database)
    answer = ask(browser, operation_id, **typed)
    assert answer.status_code == 422
    assert (f'href="#{field}"' in answer.text, sentence in content(parse(answer.text))) == (True, True)
    kept = fields(parse(answer.text))
    sent = EVIDENCE | typed
    assert (kept["note"], kept["reference"]) == (sent["note"], sent["reference"])
    assert stored(sqlite_database) == NOTHING | {"refused": 1}
    assert row_of(sqlite_database, operation_id).revision == 1


def test_a_refused_form_can_be_mended_and_sent(sqlite_database: Database) -> None:
    browser, operation_id = browser_on(sqlite_database, OPERATOR), add(sqlite_database)
    refused = ask(browser, operation_id, note="too short")
    answer = browser.post(f"/operations/{operation_id}/requeue", data=form_of(refused.text) | EVIDENCE)
    assert answer.status_code == 303


def test_who_was_slower_learns_who_was_faster_and_keeps_the_text(database: Database) -> None:
    slow, fast, operation_id = browser_on(database, OPERATOR), browser_on(database, MANAGER), add(database)
    hidden = open_form(slow, operation_id, "close")
    ask(fast, operation_id)
    answer = slow.post(
        f"/operations/{operation_id}/close", data=hidden | EVIDENCE | {"reason_code": "cancelled", "note": TYPED}
    )
    assert answer.status_code == 409
    page = content(parse(answer.text))
    assert "@shop.example changed it just now; its state is “Retry scheduled” now." in page
    assert fields(parse(answer.text))["note"] == TYPED
    assert row_of(database, operation_id).state == "retry_scheduled"
    again = slow.post(
        f"/operations/{operation_id}/close", data=form_of(answer.text) | EVIDENCE | {"reason_code": "cancelled"}
    )
    assert (again.status_code, row_of(database, operation_id).state) == (303, "not_applicable")


def test_what_is_no_longer_possible_is_explained_and_the_text_given_back(sqlite_database: Database) -> None:
    slow, operation_id = browser_on(sqlite_database, OPERATOR), add(sqlite_database)
    hidden = open_form(slow, operation_id)
    ask(browser_on(sqlite_database, MANAGER), operation_id, "confirm", reason_code="seen_at_destination")
    answer = slow.post(f"/operations/{operation_id}/requeue", data=hidden | EVIDENCE | {"note": TYPED})
    page = content(parse(answer.text))
    assert (answer.status_code, heading(answer)) == (409, "Requeue: not possible")
    assert "It has ended: its state is “Confirmed”." in page
    assert TYPED in page
    assert "changed it just now" in page


def test_support_proposes_and_is_told_that_nothing_is_done(sqlite_database: Database) -> None:
    browser, operation_id = browser_on(sqlite_database, SUPPORT), add(sqlite_database)
    answer = ask(browser, operation_id, "close", reason_code="cancelled")
    assert answer.status_code == 303
    assert "Proposed: it waits for approval. Nothing was done yet." in content(browser.page(answer.location))
    assert row_of(sqlite_database, operation_id).state == "manual_review"


def test_support_may_not_reopen_and_is_told_what_is_possible(sqlite_database: Database) -> None:
    browser, operation_id = browser_on(sqlite_database, SUPPORT), add(sqlite_database, state="confirmed")
    answer = browser.send(f"/operations/{operation_id}/reopen", idempotency_key="k", revision="1", **EVIDENCE)
    assert answer.status_code == 403
    assert factories.NOTE in content(parse(answer.text))
    assert f'href="/operations/{operation_id}#add-note"' in answer.text
    assert row_of(sqlite_database, operation_id).revision == 1


@pytest.mark.parametrize("action", ["requeue", "notes"])
def test_what_belongs_to_another_tenant_does_not_exist(sqlite_database: Database, action: str) -> None:
    browser, operation_id = browser_on(sqlite_database, Grant(Role.OPERATOR, "loja-br")), add(sqlite_database)
    answer = browser.send(f"/operations/{operation_id}/{action}", idempotency_key="k", revision="1", **EVIDENCE)
    assert answer.status_code == 404
    assert stored(sqlite_database) == NOTHING | {"refused": 1}


@pytest.mark.parametrize("path", ["%2525%2500", "a%25", "op-1%00", "x" * 200, "%E2%80%AE", "op-1/unknown", "a/b/c"])
def test_an_odd_address_is_not_found(sqlite_database: Database, path: str) -> None:
    add(sqlite_database, operation_id="op-1")
    browser = browser_on(sqlite_database, OPERATOR)
    assert browser.get(f"/operations/{path}").status_code == 404
    assert browser.send(f"/operations/{path}/requeue", idempotency_key="k", revision="1").status_code == 404


def test_a_form_without_its_token_changes_nothing(sqlite_database: Database) -> None:
    browser, operation_id = browser_on(sqlite_database, OPERATOR), add(sqlite_database)
    hidden = open_form(browser, operation_id) | {"csrf_token": "stale"}
    answer = browser.post(f"/operations/{operation_id}/requeue", data=hidden | EVIDENCE)
    assert (answer.status_code, row_of(sqlite_database, operation_id).revision) == (400, 1)


def test_text_survives_the_end_of_the_session_and_is_not_sent_unasked(
    client: PageClient, add_user: AddUser, sqlite_database: Database
) -> None:
    operation_id = add(sqlite_database)
    path = f"/operations/{operation_id}/requeue"
    expired = client.post(path, data=EVIDENCE | {"note": TYPED, "idempotency_key": "k", "revision": "1"})
    assert expired.status_code == 401
    typed = fields(parse(expired.text)) | {"email": add_user("operator"), "password": "correct horse battery"}
    resumed = client.post("/login", data=typed)
    back = client.post(path, data=fields_to(resumed.text, path))
    assert (back.status_code, stored(sqlite_database)) == (422, NOTHING)
    assert "Nothing was done yet." in content(parse(back.text))
    assert fields(parse(back.text))["note"] == TYPED
    assert 'value="effect_absent" selected' in back.text
    sent = client.post(path, data=form_of(back.text) | EVIDENCE)
    assert (sent.status_code, row_of(sqlite_database, operation_id).state) == (303, "retry_scheduled")


@pytest.mark.parametrize(
    ("action", "values", "reason", "state"),
    [
        ("close", {}, "written_off", "not_applicable"),
        ("confirm", {}, "seen_at_destination", "confirmed"),
        ("escalate", {"state": "awaiting_confirmation"}, "needs_decision", "manual_review"),
        ("reopen", {"state": "confirmed"}, "new_evidence", "manual_review"),
    ],
)
def test_each_action_says_what_it_did_and_that_nothing_was_sent(
    sqlite_database: Database, action: str, values: dict[str, Any], reason: str, state: str
) -> None:
    browser, operation_id = browser_on(sqlite_database, MANAGER), add(sqlite_database, **values)
    answer = ask(browser, operation_id, action, reason_code=reason)
    assert row_of(sqlite_database, operation_id).state == state
    assert "Nothing was sent." in content(browser.page(answer.location))


def test_a_stranger_to_the_session_is_asked_to_sign_in(sign_in: SignIn, sqlite_database: Database) -> None:
    operation_id = add(sqlite_database)
    assert sign_in("admin").get(f"/operations/{operation_id}/requeue").status_code == 403


def fields_to(page: str, path: str) -> dict[str, str]:
    """The fields of the page's form that posts to this path."""
    return fields(next(form for form in parse(page).iter("form") if form.get("action") == path))
