"""The outbox on screen: what waits and what is dead, and decisions about dead letters that act once."""

from typing import Any

import pytest
from sqlalchemy import func, select

from dashboard.db import Database, reading, transact
from dashboard.domain.permissions import Grant, Role
from dashboard.models import AuditEntry, AwaySink, OutboxDecision, OutboxMessage
from dashboard.services import audit
from tests import factories
from tests.web.client import PageClient, fields, heading, parse, text_of
from tests.web.conftest import SignIn

HOSTILE = "<script>alert(1)</script> \u202e"


@pytest.fixture
def letter(sqlite_database: Database) -> str:
    """A dead letter with two messages behind it."""
    add(sqlite_database, aggregate_key="order-452")
    add(sqlite_database, aggregate_key="order-452")
    return add(sqlite_database, id=0, state="dead", aggregate_key="order-452", claims=3, last_error="it answered 410")


def add(database: Database, **values: Any) -> str:
    return transact(database, lambda session: factories.message(session, **values).message_id)


def state_of(database: Database, message_id: str) -> str:
    with reading(database) as session:
        return session.scalars(select(OutboxMessage.state).where(OutboxMessage.message_id == message_id)).one()


def figures(browser: PageClient) -> dict[str, str]:
    page = browser.page("/outbox")
    return {item.get("data-figure", ""): item.get("value", "") for item in page.iter("data") if item.get("data-figure")}


def rows(browser: PageClient, address: str) -> list[str]:
    return [row.get("data-message-id", "") for row in browser.page(address).iter("tr") if row.get("data-message-id")]


def send(browser: PageClient, message_id: str, decision: str, **changes: Any) -> Any:
    form = fields(parse(browser.get(f"/outbox/{message_id}/{decision}").text))
    given = {"idempotency_key": form["idempotency_key"], "note": factories.NOTE, "reference": "ticket 4471", **changes}
    return browser.send(f"/outbox/{message_id}/{decision}", **given)


def test_an_empty_outbox_says_so(sign_in: SignIn) -> None:
    assert "Nothing waits to be published." in sign_in("support").get("/outbox").text


def test_each_figure_shows_exactly_its_rows(sqlite_database: Database, sign_in: SignIn, letter: str) -> None:
    add(sqlite_database)
    add(sqlite_database, state="published")
    browser = sign_in("support")
    assert figures(browser) == {"outbox_pending": "3", "outbox_held_up": "2", "outbox_dead": "1"}
    assert len(rows(browser, "/outbox?state=pending")) == 3
    assert len(rows(browser, "/outbox?state=pending&held_up=1")) == 2
    assert rows(browser, "/outbox?state=dead") == [letter]
    assert len(rows(browser, "/outbox?state=published")) == 1


def test_the_id_of_a_message_leads_to_it_and_a_key_to_its_messages(sign_in: SignIn, letter: str) -> None:
    browser = sign_in("support")
    assert browser.get(f"/outbox?q={letter}").location == f"/outbox/{letter}"
    assert len(rows(browser, "/outbox?q=order-452")) == 2


def test_a_message_of_another_tenant_does_not_exist(sign_in: SignIn, letter: str) -> None:
    browser = sign_in(None, Grant(Role.OPERATOR, tenant="shop-jp"))
    assert figures(browser) == {"outbox_pending": "0", "outbox_held_up": "0", "outbox_dead": "0"}
    assert browser.get(f"/outbox/{letter}").status_code == 404
    assert browser.get(f"/outbox/{letter}/redrive").status_code == 404
    assert browser.send(f"/outbox/{letter}/redrive", idempotency_key="k", note=factories.NOTE).status_code == 404


def test_hostile_text_is_shown_and_secrets_are_not(sqlite_database: Database, sign_in: SignIn) -> None:
    message_id = add(
        sqlite_database,
        topic=HOSTILE,
        aggregate_key=HOSTILE,
        last_error=HOSTILE,
        payload='{"password": "hunter2", "text": "<b>\\u202e"}',
    )
    browser = sign_in("support")
    page = browser.get(f"/outbox/{message_id}").text
    assert "hunter2" not in page
    assert "\u202e" not in page + browser.get("/outbox").text


@pytest.mark.parametrize(("decision", "state"), [("redrive", "pending"), ("discard", "discarded")])
def test_a_decision_is_made_once_and_audited(
    sqlite_database: Database, sign_in: SignIn, letter: str, decision: str, state: str
) -> None:
    browser = sign_in("operator")
    first = send(browser, letter, decision, idempotency_key="form-1")
    again = browser.send(f"/outbox/{letter}/{decision}", idempotency_key="form-1", note=factories.NOTE)
    assert [(answer.status_code, answer.location) for answer in (first, again)] == [(303, f"/outbox/{letter}")] * 2
    assert state_of(sqlite_database, letter) == state
    with reading(sqlite_database) as session:
        assert audit.verify(session).intact
        assert session.scalar(select(func.count()).select_from(OutboxDecision)) == 1
        entry = session.scalars(select(AuditEntry).where(AuditEntry.subject == letter)).one()
    assert (entry.action, entry.outcome, entry.reason) == (f"outbox_{decision}", "done", factories.NOTE)
    assert factories.NOTE in text_of(browser.page(f"/outbox/{letter}"))


def test_bad_evidence_is_refused_with_the_text_kept(sqlite_database: Database, sign_in: SignIn, letter: str) -> None:
    answer = send(sign_in("operator"), letter, "discard", note="too short")
    assert answer.status_code == 422
    assert fields(parse(answer.text))["note"].strip() == "too short"
    assert state_of(sqlite_database, letter) == "dead"
    with reading(sqlite_database) as session:
        entry = session.scalars(select(AuditEntry).where(AuditEntry.subject == letter)).one()
    assert (entry.outcome, entry.tenant) == ("refused", "tienda-es")


def test_a_form_that_came_back_does_nothing(sqlite_database: Database, sign_in: SignIn, letter: str) -> None:
    answer = sign_in("operator").send(f"/outbox/{letter}/discard", note=factories.NOTE)
    assert (answer.status_code, fields(parse(answer.text))["note"].strip()) == (422, factories.NOTE)
    assert state_of(sqlite_database, letter) == "dead"


def test_what_is_no_longer_dead_is_not_decided_again(sign_in: SignIn, letter: str) -> None:
    browser = sign_in("operator")
    send(browser, letter, "discard")
    answer = browser.send(f"/outbox/{letter}/redrive", idempotency_key="form-2", note=factories.NOTE)
    assert (answer.status_code, heading(answer)) == (409, "Changed meanwhile")


def test_support_sees_a_letter_and_may_not_decide(sqlite_database: Database, sign_in: SignIn, letter: str) -> None:
    browser = sign_in("support")
    assert "Redrive" not in browser.get(f"/outbox/{letter}").text
    assert browser.get(f"/outbox/{letter}/redrive").status_code == 403
    assert browser.send(f"/outbox/{letter}/redrive", idempotency_key="k", note=factories.NOTE).status_code == 403
    assert state_of(sqlite_database, letter) == "dead"
    with reading(sqlite_database) as session:
        entry = session.scalars(select(AuditEntry).where(AuditEntry.subject == letter)).one()
    assert (entry.action, entry.outcome) == ("outbox_redrive", "refused")


def test_a_sink_that_is_away_and_one_that_nobody_serves_are_said(sqlite_database: Database, sign_in: SignIn) -> None:
    away = AwaySink(
        sink="orders", failures=3, since=factories.NOW, retry_at=factories.NOW, last_error="it answered 503"
    )
    transact(sqlite_database, lambda session: session.add(away))
    add(sqlite_database, sink="nowhere")
    page = sign_in("support").get("/outbox").text
    assert "“orders” takes nothing at the moment" in page
    assert "Nobody publishes for the sink “nowhere”" in page
