"""Idempotency records on screen: what waits, what a sender would get, and stored answers as harmless text."""

from datetime import datetime, timedelta
from typing import Any
from xml.etree.ElementTree import Element

import pytest
from sqlalchemy.orm import Session

from dashboard.db import Database, clock, transact
from dashboard.domain.permissions import Grant, Role
from dashboard.models import IdempotencyConflict, IdempotencyRecord
from tests import factories
from tests.web.client import PageClient, text_of
from tests.web.conftest import SignIn

HOUR = timedelta(hours=1)


def add(database: Database, **values: Any) -> int:
    """Add a completed record, unless told otherwise; times are given as distances from now."""

    def unit(session: Session) -> int:
        now = clock(session)
        row = IdempotencyRecord(**(defaults(now) | {name: at(value, now) for name, value in values.items()}))
        session.add(row)
        session.flush()
        return row.id

    return transact(database, unit)


def at(value: Any, now: datetime) -> Any:
    return now + value if isinstance(value, timedelta) else value


def defaults(now: datetime) -> dict[str, Any]:
    return {
        "tenant": "tienda-es",
        "operation": "charge_order",
        "key": "key-1",
        "fingerprint": "f" * 64,
        "state": "completed",
        "lease_until": now,
        "response_status": 201,
        "response_headers": [["Content-Type", "application/json"]],
        "response_body": b'{"id":"pay_1"}',
        "created_at": now,
        "updated_at": now,
        "completed_at": now,
        "expires_at": now + 24 * HOUR,
    }


UNSETTLED: dict[str, Any] = {"response_status": None, "response_body": None, "completed_at": None}


def numbers(page: Element) -> list[int]:
    return [int(row.get("data-record-id", "")) for row in page.iter("tr") if row.get("data-record-id")]


def lead(page: Element) -> str:
    return next(text_of(each) for each in page.iter("p") if each.get("class") == "lead")


@pytest.fixture
def operator(sign_in: SignIn) -> PageClient:
    return sign_in("operator")


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("", "abcd"),
        ("state=pending", "b"),
        ("state=pending&state=processing", "bc"),
        ("state=completed", "a"),
        ("state=failed", "d"),
        ("conflicts=1", "b"),
        ("replayed=1", "a"),
        ("stuck=silent", "c"),
        ("stuck=late", "b"),
        ("key=a", "a"),
        ("key=A", ""),
        ("tenant=shop-jp", "c"),
        ("operation=refund_order", "d"),
        ("tenant=shop-jp&operation=refund_order", ""),
    ],
)
def test_filters(sqlite_database: Database, operator: PageClient, query: str, found: str) -> None:
    ids = {
        add(sqlite_database, key="a", replay_count=1): "a",
        add(sqlite_database, key="b", state="pending", conflict_count=2, created_at=-2 * HOUR, **UNSETTLED): "b",
        add(sqlite_database, key="c", state="processing", tenant="shop-jp", **UNSETTLED): "c",
        add(sqlite_database, key="d", state="failed", operation="refund_order"): "d",
    }
    page = operator.page(f"/idempotency?{query}")
    assert "".join(sorted(ids[number] for number in numbers(page))) == found


def test_each_look_counts_exactly_the_rows_it_leads_to(sqlite_database: Database, operator: PageClient) -> None:
    add(sqlite_database, key="replayed", replay_count=3)
    add(sqlite_database, key="silent", state="processing", lease_until=-HOUR, conflict_count=1, **UNSETTLED)
    add(sqlite_database, key="late", state="pending", created_at=-2 * HOUR, **UNSETTLED)
    add(sqlite_database, key="fresh", state="pending", **UNSETTLED)
    looks = [link for link in operator.page("/idempotency").iter("a") if list(link.iter("data"))]
    counted = {str(link.get("href")): int(next(link.iter("data")).get("value", "")) for link in looks}
    assert sorted(counted.values()) == [1, 1, 1, 1, 3]
    for address, count in counted.items():
        page = operator.page(address)
        assert len(numbers(page)) == count
        assert [link.get("href") for link in page.iter("a") if link.get("aria-current") == "true"] == [address]


def test_conflicts_tell_which_fields_differed_and_from_whom(sqlite_database: Database, operator: PageClient) -> None:
    number = add(sqlite_database, conflict_count=4)

    def unit(session: Session) -> None:
        told = [["amount", "<b>\u202e"], [""], None]
        for row, fields in enumerate(told):
            at = clock(session) - row * HOUR
            actor, trace = f"host-{row}", f"trace-{row}"
            session.add(
                IdempotencyConflict(
                    record_id=number, at=at, fingerprint="0" * 64, fields=fields, actor_id=actor, correlation_id=trace
                )
            )

    transact(sqlite_database, unit)
    page = operator.page(f"/idempotency/{number}")
    rows = [text_of(row) for row in page.iter("tr") if row.get("data-conflict") is not None]
    assert all(f"host-{number}" in row and f"trace-{number}" in row for number, row in enumerate(rows))
    assert "amount, <b>\\u202e" in rows[0]
    assert "the whole content" in rows[1]
    assert "cannot be told" in rows[2]
    assert "1 conflict was counted without its fields." in text_of(page)


def test_a_tombstone_is_shown_as_one(sqlite_database: Database, operator: PageClient) -> None:
    gone = {"response_body": None, "response_headers": None, "purged_at": -HOUR, "expires_at": -2 * HOUR}
    page = operator.page(f"/idempotency/{add(sqlite_database, **gone)}")
    assert "What is left is a tombstone" in text_of(page)
    assert "Its headers and body were purged." in text_of(page)
    assert "410" in lead(page)
    assert "201purged" in text_of(operator.page("/idempotency")).replace(" ", "")


@pytest.mark.parametrize(
    "query", ["state=nonsense", "stuck=nonsense", "conflicts=maybe", "after=x", f"key={'k' * 256}", "tenant=%00"]
)
def test_what_cannot_be_read_is_told(operator: PageClient, query: str) -> None:
    assert operator.get(f"/idempotency?{query}").status_code == 400


def test_records_outside_the_grants_do_not_exist(sqlite_database: Database, sign_in: SignIn) -> None:
    foreign, mine = add(sqlite_database, tenant="shop-jp"), add(sqlite_database)
    browser = sign_in(None, Grant(Role.OPERATOR, "tienda-es"))
    page = browser.page("/idempotency")
    assert numbers(page) == [mine]
    assert "1 record" in text_of(page)
    assert browser.get(f"/idempotency/{foreign}").status_code == 404


def test_stuck_records_stand_out(sqlite_database: Database, operator: PageClient) -> None:
    add(sqlite_database, key="alive", state="processing", lease_until=HOUR, **UNSETTLED)
    add(sqlite_database, key="dead", state="processing", lease_until=-HOUR, created_at=-2 * HOUR, **UNSETTLED)
    add(sqlite_database, key="new", state="pending", created_at=-HOUR / 2, **UNSETTLED)
    add(sqlite_database, key="old", state="pending", created_at=-3 * HOUR, **UNSETTLED)
    rows = [text_of(row) for row in operator.page("/idempotency").iter("tr") if row.get("data-record-id")]
    marked = {name for name in ("alive", "dead", "new", "old") for row in rows if name in row and marks(row)}
    assert marked == {"dead", "old"}


def marks(row: str) -> bool:
    return "lease ended" in row or "no outcome yet" in row


@pytest.mark.parametrize(
    ("values", "answer", "words"),
    [
        ({}, "201", "the stored answer 201 is sent once more"),
        ({"state": "failed", "response_status": 422}, "422", "the stored answer 422 is sent once more"),
        ({"response_status": None}, "200", "no answer was stored"),
        ({"response_status": None, "state": "failed"}, "409", "no answer was stored"),
        ({"expires_at": -HOUR}, "410", "a key is never new twice"),
        ({"state": "pending", **UNSETTLED}, "202", "until it is known what the first request did"),
        ({"state": "pending", "expires_at": -HOUR, **UNSETTLED}, "202", "until it is known"),
        ({"state": "processing", "lease_until": HOUR, **UNSETTLED}, "202", "still being worked on"),
        ({"state": "processing", "lease_until": -HOUR, **UNSETTLED}, "202", "Its worker went silent"),
    ],
)
def test_the_sentence_says_what_happens_next(
    sqlite_database: Database, operator: PageClient, values: dict[str, Any], answer: str, words: str
) -> None:
    page = operator.page(f"/idempotency/{add(sqlite_database, **values)}")
    assert lead(page).startswith("If this key is sent again:")
    assert words in lead(page)
    assert f"The same {answer}" in text_of(page)
    assert "Anything else 409 idempotency_key_reused" in text_of(page)


def test_secrets_in_stored_answers_are_not_shown(sqlite_database: Database, operator: PageClient) -> None:
    headers = [["Set-Cookie", "session=s3cret"], ["Authorization", "Bearer s3cret"], ["X-Request-Id", "r-1"]]
    body = b'{"access_token":"s3cret","id":"pay_1"}'
    answer = operator.get(f"/idempotency/{add(sqlite_database, response_headers=headers, response_body=body)}")
    assert "s3cret" not in answer.text
    assert "r-1" in answer.text
    assert "pay_1" in answer.text


@pytest.mark.parametrize(
    ("body", "shown"),
    [
        ("<img src=x onerror=alert(1)>\u202e".encode(), "<img src=x onerror=alert(1)>\\u202e"),
        (b"\x89PNG\r\n\x1a\n\xff", "The body is binary"),
        (b"text\0with NUL", "The body is binary"),
        (b"", "The body is empty."),
        (None, "Its body is not kept"),
        ("é".encode() * 4000, "é" * 4000),
    ],
)
def test_a_body_is_text_or_nothing(
    sqlite_database: Database, operator: PageClient, body: bytes | None, shown: str
) -> None:
    page = operator.page(f"/idempotency/{add(sqlite_database, response_body=body)}")
    assert shown in text_of(page)
    assert "Only its beginning" not in text_of(page)


@pytest.mark.parametrize("sign", ["x", "é", "😀"])
def test_a_long_body_is_cut_between_characters(sqlite_database: Database, operator: PageClient, sign: str) -> None:
    page = operator.page(f"/idempotency/{add(sqlite_database, response_body=sign.encode() * 50_000)}")
    assert [text_of(each) for each in page.iter("pre")] == [sign * 4000]
    assert "Only its beginning is shown." in text_of(page)


@pytest.mark.parametrize("headers", [None, [], {}, {"X-Trace": "1"}, [["alone"]], "text", [["X-Trace", 7]], 7])
def test_headers_of_any_shape_do_not_break_the_page(
    sqlite_database: Database, operator: PageClient, headers: object
) -> None:
    assert operator.page(f"/idempotency/{add(sqlite_database, response_headers=headers)}") is not None


def test_hostile_text_is_shown_and_does_nothing(sqlite_database: Database, operator: PageClient) -> None:
    hostile = "<b>\u202ebold</b>' OR 1=1 --"
    number = add(
        sqlite_database, key=hostile, correlation_id=hostile, external_reference=hostile, resource_ids=[hostile, 7]
    )
    for path in ("/idempotency", f"/idempotency/{number}"):
        assert "<b>\\u202ebold</b>' OR 1=1 --" in text_of(operator.page(path))


def test_an_operation_is_linked_within_the_grants(sqlite_database: Database, sign_in: SignIn) -> None:
    def unit(session: Session) -> str:
        return factories.operation(session, type="refund_order").operation_id

    operation_id = transact(sqlite_database, unit)
    number = add(sqlite_database, operation_id=operation_id)
    link = f"/operations/{operation_id}"
    assert link in sign_in("operator").get(f"/idempotency/{number}").text
    narrow = sign_in(None, Grant(Role.OPERATOR, "tienda-es", "charge_order"))
    answer = narrow.get(f"/idempotency/{number}")
    assert link not in answer.text
    assert operation_id not in answer.text


def test_a_list_of_equal_times_loses_no_record(sqlite_database: Database, operator: PageClient) -> None:
    added = [add(sqlite_database, key=f"key-{number}", created_at=factories.NOW) for number in range(7)]
    found: list[int] = []
    address: str | None = "/idempotency?limit=2"
    while address:
        page = operator.page(address)
        found += numbers(page)
        address = next((link.get("href") for link in page.iter("a") if link.get("rel") == "next"), None)
    assert found == added[::-1]
