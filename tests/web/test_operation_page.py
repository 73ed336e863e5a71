"""The page of one operation: a sentence anybody understands, what differs, what happened, what belongs to it."""

from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import select

from dashboard.db import Database, transact
from dashboard.domain.permissions import Grant, Role
from dashboard.models import IdempotencyRecord, Operation
from tests import factories
from tests.web.client import PageClient, parse, text_of
from tests.web.lists import browser_on, content, now, statements
from tests.web.repairs import OPERATOR, SUPPORT, add

PROBE = {"verdict": "divergent", "actual": {"order": "452", "amount": "381.93", "currency": "EUR"}}


def happened(database: Database, operation_id: str, **values: Any) -> None:
    """Add an event to an operation."""

    def unit(session: Any) -> None:
        row = session.scalars(select(Operation).where(Operation.operation_id == operation_id)).one()
        factories.event(session, row, **values)

    transact(database, unit)


def lead(browser: PageClient, operation_id: str) -> str:
    page = browser.page(f"/operations/{operation_id}")
    return next(text_of(each) for each in page.iter("p") if each.get("class") == "lead")


def test_the_sentence_tells_what_happened_and_what_it_waits_for(database: Database) -> None:
    at = now() - timedelta(hours=3)
    operation_id = add(database, created_at=at, verdict="divergent", verdict_at=at)
    happened(database, operation_id, evidence=PROBE)
    assert lead(browser_on(database, SUPPORT), operation_id) == (
        "Charge order: €318.93 for order 452. It was sent to payments, and the answer never came. "
        "payments was last asked 3 hours ago. "
        "It found the effect, but amount is 381.93 instead of 318.93. "
        "A person has to decide what happens next; it has waited 3 h. It is 1 h past its deadline."
    )


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"state": "pending", "attempts": 0, "cause": None}, "nothing was sent to payments yet"),
        ({"state": "processing", "cause": None}, "A worker began to send it to payments"),
        ({"state": "awaiting_confirmation"}, "nobody knows whether the effect exists"),
        ({"state": "retry_scheduled", "cause": "not_sent"}, "failed before anything reached payments"),
        ({"state": "retry_scheduled", "cause": "throttled", "next_attempt_at": factories.NOW}, "has been due since"),
        ({"cause": "permanent", "verdict": None}, "another attempt would not mend"),
        ({"verdict": "absent"}, "It found no effect there."),
        ({"verdict": "ambiguous"}, "did not tell whether the effect exists"),
        ({"verdict": "a word of the host", "cause": "another"}, "A person has to decide"),
        ({"state": "confirmed"}, "payments confirmed it on"),
        ({"state": "compensated"}, "Its effect was undone on"),
        ({"state": "not_applicable", "closed_reason": "written_off"}, "(Written off); nothing is left to do."),
        ({"amount": None, "currency": None}, "Charge order: order 452."),
    ],
)
def test_there_is_a_sentence_for_every_state_and_verdict(
    sqlite_database: Database, values: dict[str, Any], sentence: str
) -> None:
    assert sentence in lead(browser_on(sqlite_database, SUPPORT), add(sqlite_database, **values))


def test_what_differs_is_marked_by_a_word(sqlite_database: Database) -> None:
    operation_id = add(sqlite_database)
    happened(sqlite_database, operation_id, evidence=PROBE)
    page = browser_on(sqlite_database, SUPPORT).page(f"/operations/{operation_id}")
    rows = [text_of(row) for row in page.iter("tr")]
    assert "amount 318.93 381.93 Differs" in rows
    assert "currency EUR EUR Same" in rows


def test_without_an_answer_nothing_is_compared(sqlite_database: Database) -> None:
    page = content(browser_on(sqlite_database, SUPPORT).page(f"/operations/{add(sqlite_database)}"))
    assert "Expected and actual No answer seen yet" in page
    assert "Not compared" in page


def test_secrets_are_taken_out_again_on_display(sqlite_database: Database) -> None:
    operation_id = add(sqlite_database, expected={"order": "452", "api_key": "sk_live_expected"})
    secrets = {"authorization": "Bearer abc.def", "actual": {"order": "452", "api_key": "sk_live_actual"}}
    happened(sqlite_database, operation_id, evidence=secrets, reason="password=hunter22")
    browser = browser_on(sqlite_database, OPERATOR)
    for path in ("", "/events/1"):
        text = browser.get(f"/operations/{operation_id}{path}").text
        assert [secret for secret in ("abc.def", "sk_live", "hunter22") if secret in text] == []
        assert "[redacted]" in text


def test_a_long_text_is_cut_with_a_link_to_all_of_it(database: Database) -> None:
    operation_id = add(database)
    happened(database, operation_id, kind="attempt", reason="é" * 239_990 + "the end")
    browser = browser_on(database, SUPPORT)
    answer = browser.get(f"/operations/{operation_id}")
    assert f'href="/operations/{operation_id}/events/1"' in answer.text
    assert len(answer.text) < 40_000
    assert "the end" in browser.get(f"/operations/{operation_id}/events/1").text


def test_a_text_that_fits_has_no_link_to_more(database: Database) -> None:
    operation_id = add(database)
    happened(database, operation_id, kind="attempt", reason="é" * 2000)
    assert "/events/1" not in browser_on(database, SUPPORT).get(f"/operations/{operation_id}").text


def test_hostile_text_of_events_is_shown_as_text(sqlite_database: Database) -> None:
    operation_id = add(sqlite_database)
    hostile = "<img src=x onerror=alert(1)>\u202eevil\r\nline\ttab\u200b"
    happened(
        sqlite_database, operation_id, kind="note", actor_id=hostile[:60], reason=hostile, evidence={hostile: hostile}
    )
    for path in ("", "/events/1"):
        text = browser_on(sqlite_database, SUPPORT).get(f"/operations/{operation_id}{path}").text
        assert "<img" not in text
        assert ("\u202e" in text, "\\u202eevil" in text) == (False, True)


def test_at_most_200_events_are_shown_and_the_page_says_so(sqlite_database: Database) -> None:
    operation_id = add(sqlite_database)
    for number in range(1, 202):
        happened(sqlite_database, operation_id, seq=number, kind="note", reason=f"note number {number}.")
    page = content(browser_on(sqlite_database, SUPPORT).page(f"/operations/{operation_id}"))
    assert "The newest 200 events, newest first; there are older ones" in page
    assert ("note number 2." in page, "note number 1." in page) == (True, False)


def test_the_number_of_queries_does_not_depend_on_what_happened(sqlite_database: Database) -> None:
    quiet, busy = add(sqlite_database), add(sqlite_database)
    for number in range(1, 60):
        happened(sqlite_database, busy, seq=number, evidence=PROBE)
    browser = browser_on(sqlite_database, OPERATOR)
    counted = []
    for operation_id in (quiet, busy):
        with statements(sqlite_database) as seen:
            browser.page(f"/operations/{operation_id}")
        counted.append(len(seen))
    assert counted[0] == counted[1]


def test_the_idempotency_record_stands_beside_it(sqlite_database: Database) -> None:
    operation_id = add(sqlite_database, idempotency_key="charge:452")
    at = factories.NOW
    record = IdempotencyRecord(
        tenant="tienda-es",
        operation="charge_order",
        key="charge:452",
        fingerprint="f" * 64,
        state="pending",
        lease_until=at,
        created_at=at,
        updated_at=at,
        conflict_count=1,
    )
    transact(sqlite_database, lambda session: session.add(record))
    answer = browser_on(sqlite_database, SUPPORT).get(f"/operations/{operation_id}")
    assert 'href="/idempotency/1"' in answer.text
    assert "Key charge:452" in content(parse(answer.text))


def test_a_compensation_outside_the_grants_is_not_named(sqlite_database: Database) -> None:
    def family(session: Any) -> None:
        parent = factories.operation(session, operation_id="parent")
        factories.operation(session, operation_id="child", type="refund_order", parent_id=parent.id)

    transact(sqlite_database, family)
    everywhere, narrow = (
        browser_on(sqlite_database),
        browser_on(sqlite_database, Grant(Role.SUPPORT, None, "charge_order")),
    )
    assert 'href="/operations/child"' in everywhere.get("/operations/parent").text
    assert 'href="/operations/parent"' in everywhere.get("/operations/child").text
    assert 'href="/operations/child"' not in narrow.get("/operations/parent").text
    assert narrow.get("/operations/child").status_code == 404


@pytest.mark.parametrize("seq", ["0", "2", "2147483647", "99999999999999999999", "1" * 5000])
def test_an_event_that_is_not_there_is_not_found(sqlite_database: Database, seq: str) -> None:
    assert browser_on(sqlite_database).get(f"/operations/{add(sqlite_database)}/events/{seq}").status_code == 404
