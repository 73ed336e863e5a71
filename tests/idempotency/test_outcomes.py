"""Only outcomes that are certain are kept; what is not certain is pending, and what never began is forgotten."""

from typing import Any

import pytest
from sqlalchemy import update

from dashboard.db import Database, transaction
from dashboard.idempotency import NotProtectedError, current
from dashboard.models import IdempotencyRecord
from tests.idempotency.conftest import Door
from tests.idempotency.host import ORDER, Shop
from tests.services.reserving import record, records

KEY = {"Idempotency-Key": "k-1"}


def post(client: Any, body: object = ORDER) -> Any:
    return client.post("/charges/1", json=body, headers=KEY, buffered=True)


def test_a_refusal_before_the_work_gives_the_key_back(door: Door, database: Database) -> None:
    shop = Shop(database)
    client = door(shop)
    shop.behaviour = shop.refused
    refused = post(client, {"order": ""})
    assert (refused.status_code, records(database)) == (422, [])
    assert "Idempotency-Expires-In" not in refused.headers
    shop.behaviour = None
    assert post(client).status_code == 201


def test_a_refusal_after_the_work_began_is_an_outcome(door: Door, sqlite_database: Database) -> None:
    shop = Shop(sqlite_database)
    client = door(shop)
    shop.behaviour = shop.declined
    first, again = post(client), post(client)
    assert (first.status_code, again.status_code, again.data) == (402, 402, first.data)
    assert (shop.effects, record(sqlite_database).state) == (["asked"], "failed")


def test_an_exception_leaves_the_key_pending(door: Door, database: Database) -> None:
    shop = Shop(database)
    client = door(shop)
    shop.behaviour = shop.broken
    with pytest.raises(RuntimeError):
        post(client)
    again = post(client)
    assert (again.status_code, again.json["code"]) == (202, "idempotency_pending")
    assert (shop.effects, record(database).state, record(database).response_body) == (["charged"], "pending", None)


def test_an_answer_of_500_is_not_an_outcome(door: Door, sqlite_database: Database) -> None:
    shop = Shop(sqlite_database)
    client = door(shop)
    shop.behaviour = lambda: ({"error": "who knows"}, 502)
    assert [post(client).status_code for _ in range(2)] == [502, 202]
    assert record(sqlite_database).state == "pending"


def test_an_error_that_the_host_handles_counts_by_its_status(sqlite_database: Database) -> None:
    shop = Shop(sqlite_database)
    client = shop.flask()
    client.application.register_error_handler(RuntimeError, lambda _error: ({"error": "handled"}, 500))
    shop.behaviour = shop.broken
    assert [post(client).status_code for _ in range(2)] == [500, 202]


def test_a_handler_that_marks_its_beginning_proves_that_nothing_happened(door: Door, sqlite_database: Database) -> None:
    shop = Shop(sqlite_database, marked=True)
    client = door(shop)
    shop.behaviour = lambda: ({"error": "no room"}, 503)
    assert (post(client).status_code, records(sqlite_database)) == (503, [])
    shop.behaviour = shop.broken
    with pytest.raises(RuntimeError):
        post(client)
    assert record(sqlite_database).state == "pending"


def test_the_handler_names_what_it_made(door: Door, sqlite_database: Database) -> None:
    shop = Shop(sqlite_database)

    def work() -> dict[str, bool]:
        execution = current()
        execution.begin()
        execution.extend()
        execution.operation_id, execution.external_reference = "charge-452", "ch_9"
        execution.resource_ids.append("order-452")
        return {"ok": True}

    shop.behaviour = work
    post(door(shop))
    row = record(sqlite_database)
    assert (row.operation_id, row.external_reference, row.resource_ids) == ("charge-452", "ch_9", ["order-452"])


def test_there_is_no_execution_outside_a_protected_request() -> None:
    with pytest.raises(NotProtectedError):
        current()


def test_a_replay_without_a_kept_answer_tells_what_is_known(door: Door, sqlite_database: Database) -> None:
    shop = Shop(sqlite_database, max_answer=10)
    client = door(shop)
    first, again = post(client), post(client)
    assert first.status_code == 201
    assert (again.status_code, again.json["state"]) == (200, "completed")
    assert (again.headers["Idempotent-Replayed"], len(shop.effects)) == ("true", 1)


@pytest.mark.parametrize("end", ["expired", "purged"])
def test_a_repeat_after_the_answer_is_gone_does_nothing(door: Door, sqlite_database: Database, end: str) -> None:
    shop = Shop(sqlite_database)
    client = door(shop)
    post(client)
    gone: dict[str, Any] = {"expires_at": record(sqlite_database).created_at}
    if end == "purged":
        gone |= {"response_body": None, "response_headers": None, "field_digests": None}
    set_record(sqlite_database, **gone)
    again = post(client)
    assert (again.status_code, again.json["code"]) == (410, "idempotency_answer_expired")
    other = post(client, {"order": "other"})
    assert (other.status_code, len(shop.effects)) == (409, 1)


def test_a_key_that_was_closed_without_an_effect_is_not_run_again(door: Door, sqlite_database: Database) -> None:
    shop = Shop(sqlite_database)
    client = door(shop)
    shop.behaviour = shop.broken
    with pytest.raises(RuntimeError):
        post(client)
    set_record(sqlite_database, state="failed")
    again = post(client)
    assert (again.status_code, again.json["code"]) == (409, "idempotency_closed")


def set_record(database: Database, **values: Any) -> None:
    with transaction(database) as session:
        session.execute(update(IdempotencyRecord).values(**values))
