"""The search box lands on the one thing that an id names, and lists what begins with anything else."""

import pytest
from sqlalchemy.orm import Session

from dashboard.db import Database, transact
from dashboard.domain.permissions import Grant, Role
from dashboard.models import IdempotencyRecord
from tests.web.client import PageClient, heading
from tests.web.lists import add_operations, browser_on, ids, now

IDS = {
    "operation_id": "charge-order-1",
    "idempotency_key": "k" * 255,
    "remote_id": "ch_3Qx",
    "entity_id": "F-2251",
    "correlation_id": "corr/9",
}
STRANGE = ["%", "_", "' OR 1=1 --", "\U0010ffff", "\ud7ff", "🦊", "x" * 400, "a" * 70 + " 1"]


def place(browser: PageClient, text: str) -> str:
    """Where the search box leads."""
    answer = browser.get("/search", query_string={"q": text})
    assert answer.status_code == 302
    return answer.location


def add_record(database: Database, key: str, **values: object) -> int:
    def unit(session: Session) -> int:
        at = now()
        record = IdempotencyRecord(
            **{
                "tenant": "tienda-es",
                "operation": "charge_order",
                "key": key,
                "fingerprint": "f" * 64,
                "state": "completed",
                "lease_until": at,
                "created_at": at,
                "updated_at": at,
                **values,
            }
        )
        session.add(record)
        session.flush()
        return record.id

    return transact(database, unit)


def test_each_id_of_an_operation_leads_to_it(database: Database) -> None:
    browser = browser_on(database)
    for column, text in IDS.items():
        [wanted, _other] = add_operations(database, {column: text}, {})
        assert place(browser, f" {text} ") == f"/operations/{wanted}", column


@pytest.mark.parametrize("text", ["order 2251", "Order 2251", "order  2251"])
def test_an_entity_is_found_as_people_say_it(sqlite_database: Database, text: str) -> None:
    [wanted, _other] = add_operations(
        sqlite_database, {"entity_id": "2251"}, {"entity_id": "2251", "entity_type": "invoice"}
    )
    assert place(browser_on(sqlite_database), text) == f"/operations/{wanted}"


def test_an_operation_wins_over_those_that_follow_from_it(sqlite_database: Database) -> None:
    [wanted, _child] = add_operations(sqlite_database, {"operation_id": "first"}, {"correlation_id": "first"})
    assert place(browser_on(sqlite_database), "first") == f"/operations/{wanted}"


def test_a_key_that_only_a_record_has_leads_to_the_record(database: Database) -> None:
    number = add_record(database, "key-of-a-record")
    assert place(browser_on(database), "key-of-a-record") == f"/idempotency/{number}"


def test_several_matches_are_listed(database: Database) -> None:
    wanted = add_operations(database, *[{"entity_id": "2251"}] * 3, {"entity_id": "9"})[:3]
    browser = browser_on(database)
    assert place(browser, "2251") == "/operations?q=2251"
    assert set(ids(browser.get("/operations?q=2251").text)) == set(wanted)


def test_the_beginning_of_an_id_lists_what_begins_so(database: Database) -> None:
    wanted = add_operations(database, {"remote_id": "ch_Ab"}, {"remote_id": "ch_Abc"}, {"remote_id": "ch_ab"})[:2]
    browser = browser_on(database)
    assert place(browser, "ch_A") == "/operations?q=ch_A"
    assert set(ids(browser.get("/operations?q=ch_A").text)) == set(wanted)


def test_what_lies_outside_the_grants_is_not_found(database: Database) -> None:
    add_operations(database, {"operation_id": "secret-1", "tenant": "other"})
    add_record(database, "secret-key", tenant="other")
    browser = browser_on(database, Grant(Role.SUPPORT, "tienda-es"))
    assert place(browser, "secret-1") == "/operations?q=secret-1"
    assert place(browser, "secret-key") == "/operations?q=secret-key"
    assert ids(browser.get("/operations?q=secret-1").text) == []


@pytest.mark.parametrize("text", ["", "   "])
def test_nothing_leads_back_to_the_list(sqlite_database: Database, text: str) -> None:
    assert place(browser_on(sqlite_database), text) == "/operations"


@pytest.mark.parametrize("text", ["x" * 501, "a\x00b"])
def test_text_that_nothing_can_be_called_gets_a_clear_answer(sqlite_database: Database, text: str) -> None:
    browser = browser_on(sqlite_database)
    for path in ("/search", "/operations", "/exceptions"):
        answer = browser.get(path, query_string={"q": text})
        assert (answer.status_code, heading(answer)) == (400, "This request cannot be read")


def test_any_text_can_be_searched_for(database: Database) -> None:
    add_operations(database, {})
    browser = browser_on(database)
    for text in STRANGE:
        assert ids(browser.get(place(browser, text)).text) == [], text


def test_a_search_within_the_exceptions_looks_at_them_only(sqlite_database: Database) -> None:
    closed = [{"operation_id": f"same-{each:03}", "state": "confirmed"} for each in range(250)]
    [*_, wanted] = add_operations(sqlite_database, *closed, {"operation_id": "same-999"})
    assert ids(browser_on(sqlite_database).get("/exceptions?q=same-").text) == [wanted]


def test_a_search_that_reached_its_limit_says_that_there_may_be_more(sqlite_database: Database) -> None:
    add_operations(sqlite_database, *({"operation_id": f"same-{each:03}"} for each in range(250)))
    assert "200+ operations" in browser_on(sqlite_database).get("/operations?q=same-").text
