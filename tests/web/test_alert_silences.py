"""Silencing on screen: a form with a reason that is done once, for who may, and the way back."""

from typing import Any

import pytest
from sqlalchemy import select

from dashboard.db import Database, reading
from dashboard.domain.permissions import Grant, Role
from dashboard.models import AlertSilence, AuditEntry
from dashboard.services import audit
from tests.alerting import REASON, add_alerts, add_silence
from tests.web.client import PageClient, fields, heading, parse, text_of
from tests.web.lists import browser_on, content

FORM = {"subject": "charge_order", "rule": "accumulation", "lasts": "4h", "note": REASON, "idempotency_key": "k-1"}
PATH = "/alerts/silence"


def silences(database: Database) -> list[AlertSilence]:
    with reading(database) as session:
        assert audit.verify(session).intact
        return list(session.scalars(select(AlertSilence).order_by(AlertSilence.id)))


def last_entry(database: Database) -> AuditEntry:
    with reading(database) as session:
        return session.scalars(select(AuditEntry).order_by(AuditEntry.seq.desc())).first()  # type: ignore[return-value]


def operator(database: Database) -> PageClient:
    add_alerts(database, {})
    return browser_on(database, Grant(Role.OPERATOR))


def notices(answer: Any) -> str:
    found = [text_of(each) for each in parse(answer.text).iter("div") if "notice" in (each.get("class") or "").split()]
    return " ".join(found)


def test_it_is_silenced_once_however_often_the_form_is_sent(database: Database) -> None:
    browser = operator(database)
    for _ in range(2):
        answer = browser.send(PATH, **FORM)
        assert (answer.status_code, answer.location) == (303, "/alerts")
    [stored] = silences(database)
    assert (stored.rule, stored.subject, stored.reason) == ("accumulation", "charge_order", REASON)
    assert (stored.ends_at - stored.created_at).total_seconds() == 4 * 3600
    words = content(browser.page("/alerts"))
    assert "Silenced until " in words
    assert f"Operations wait for a person charge_order {REASON}" in words
    entry = last_entry(database)
    assert (entry.action, entry.outcome, entry.reason, entry.type) == ("alert_silence", "done", REASON, "charge_order")


def test_the_form_says_what_it_silences_and_keeps_what_was_chosen(sqlite_database: Database) -> None:
    page = operator(sqlite_database).page(f"{PATH}?subject=charge_order&rule=age")
    chosen = [text_of(each) for each in page.iter("option") if "selected" in each.attrib]
    assert chosen == ["The oldest open operation is too old", "4 hours"]
    assert "Messages are dead" not in content(page)
    assert fields(page)["subject"] == "charge_order"


@pytest.mark.parametrize(
    ("changed", "problem"),
    [
        ({"note": "too short"}, "The note says 9 characters; at least 15 are needed"),
        ({"note": " " * 40}, "Write a note."),
        ({"lasts": "99y"}, "Choose one of the lengths in the list."),
        ({"lasts": ""}, "Choose one of the lengths in the list."),
        ({"rule": "dead_letters"}, "Choose one of the alerts in the list."),
        ({"rule": "<b>"}, "Choose one of the alerts in the list."),
        ({"idempotency_key": ""}, "The form came without its key."),
    ],
)
def test_a_refused_form_says_why_and_keeps_what_was_typed(
    sqlite_database: Database, changed: dict[str, str], problem: str
) -> None:
    answer = operator(sqlite_database).send(PATH, **{**FORM, **changed})
    assert answer.status_code == 422
    assert problem in notices(answer)
    assert fields(parse(answer.text))["note"].strip() == {**FORM, **changed}["note"].strip()
    assert silences(sqlite_database) == []


def test_a_form_that_came_back_from_the_sign_in_does_nothing_yet(sqlite_database: Database) -> None:
    sent = {name: value for name, value in FORM.items() if name != "idempotency_key"}
    answer = operator(sqlite_database).send(PATH, **sent)
    assert (answer.status_code, "Your text is back" in notices(answer)) == (422, True)
    assert fields(parse(answer.text))["note"].strip() == REASON
    assert silences(sqlite_database) == []


@pytest.mark.parametrize("missing", ["subject", "rule"])
def test_a_form_that_does_not_say_what_silences_nothing(sqlite_database: Database, missing: str) -> None:
    add_alerts(sqlite_database, {})
    sent = {name: value for name, value in FORM.items() if name != missing}
    assert browser_on(sqlite_database, Grant(Role.MANAGER)).send(PATH, **sent).status_code == 422
    assert silences(sqlite_database) == []


def test_there_is_no_form_for_what_nobody_knows(sqlite_database: Database) -> None:
    assert operator(sqlite_database).get(f"{PATH}?subject=nothing_like_it").status_code == 404


def test_a_key_of_another_form_is_refused(sqlite_database: Database) -> None:
    browser = operator(sqlite_database)
    browser.send(PATH, **FORM)
    answer = browser.send(PATH, **{**FORM, "rule": "age"})
    assert (answer.status_code, "already used for something else" in notices(answer)) == (422, True)
    assert len(silences(sqlite_database)) == 1


@pytest.mark.parametrize(
    ("grant", "subject", "status"),
    [
        (Grant(Role.SUPPORT), "charge_order", 403),
        (Grant(Role.OPERATOR), "charge_order", 303),
        (Grant(Role.OPERATOR), "", 403),
        (Grant(Role.MANAGER), "", 303),
        (Grant(Role.MANAGER, None, "charge_order"), "", 404),
        (Grant(Role.MANAGER, None, "charge_order"), "charge_order", 303),
        (Grant(Role.MANAGER, None, "ship_order"), "charge_order", 404),
        (Grant(Role.MANAGER, "tienda-es"), "charge_order", 404),
        (Grant(Role.ADMIN), "", 303),
        (Grant(Role.ADMIN), "charge_order", 404),
        (Grant(Role.MANAGER), "no_such_type", 404),
    ],
)
def test_who_may_silence_what(sqlite_database: Database, grant: Grant, subject: str, status: int) -> None:
    add_alerts(sqlite_database, {})
    browser = browser_on(sqlite_database, grant)
    answer = browser.send(PATH, **{**FORM, "subject": subject, "rule": ""})
    assert answer.status_code == status
    assert len(silences(sqlite_database)) == (status == 303)
    assert last_entry(sqlite_database).outcome == ("done" if status == 303 else "refused")
    if subject != "no_such_type":
        assert browser.get(f"{PATH}?subject={subject}").status_code == (200 if status == 303 else status)


def test_ahead_of_time_one_chooses_among_what_one_may_silence(sqlite_database: Database) -> None:
    add_alerts(sqlite_database, {}, {"subject": "<b>ship"})
    offered = {
        role: [text_of(each) for each in browser_on(sqlite_database, Grant(role)).page(PATH).iter("option")]
        for role in (Role.OPERATOR, Role.MANAGER, Role.ADMIN)
    }
    types = ["<b>ship", "charge_order"]
    assert offered == {
        Role.OPERATOR: types,
        Role.MANAGER: ["Installation", *types],
        Role.ADMIN: ["Installation"],
    }


def test_who_may_silence_nothing_is_told_so(sqlite_database: Database) -> None:
    add_alerts(sqlite_database, {})
    page = browser_on(sqlite_database, Grant(Role.SUPPORT), Grant(Role.OPERATOR, "tienda-es")).page(PATH)
    assert "There is nothing for you to silence" in content(page)
    assert not list(page.iter("option"))


def test_a_silence_is_ended_once_and_what_fires_is_back(database: Database) -> None:
    browser, number = operator(database), add_silence(database)
    page = browser.page("/alerts")
    assert any(each.get("action") == "/alerts/unsilence" for each in page.iter("form"))
    for _ in range(2):
        assert browser.send("/alerts/unsilence", silence=number).status_code == 303
    [stored] = silences(database)
    assert stored.ended_at is not None
    assert "Firing 1" in content(browser.page("/alerts"))
    assert last_entry(database).action == "alert_unsilence"


def test_a_form_that_is_sent_again_after_its_silence_was_ended_silences_nothing(sqlite_database: Database) -> None:
    browser = operator(sqlite_database)
    browser.send(PATH, **FORM)
    browser.send("/alerts/unsilence", silence=silences(sqlite_database)[0].id)
    assert browser.send(PATH, **FORM).status_code == 303
    words = content(browser.page("/alerts"))
    assert ("Nothing was done twice" in words, "Silenced until" in words, "Firing 1" in words) == (True, False, True)


@pytest.mark.parametrize(
    ("grant", "status"), [(Grant(Role.SUPPORT), 403), (Grant(Role.MANAGER, "tienda-es"), 404), (Grant(Role.ADMIN), 404)]
)
def test_who_may_not_end_a_silence_is_refused(sqlite_database: Database, grant: Grant, status: int) -> None:
    number = add_silence(sqlite_database)
    browser = browser_on(sqlite_database, grant)
    assert browser.send("/alerts/unsilence", silence=number).status_code == status
    assert silences(sqlite_database)[0].ended_at is None
    assert last_entry(sqlite_database).outcome == "refused"


@pytest.mark.parametrize("number", ["", "x", "-1", "1.0", "999999", "9" * 30, "\N{SUPERSCRIPT TWO}"])
def test_what_is_no_silence_is_not_found(sqlite_database: Database, number: str) -> None:
    answer = browser_on(sqlite_database, Grant(Role.MANAGER)).send("/alerts/unsilence", silence=number)
    assert (answer.status_code, heading(answer)) == (404, "Not found")
