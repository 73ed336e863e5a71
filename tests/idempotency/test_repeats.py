"""The same key and content: one execution, and the same bytes for everybody."""

import pytest
from werkzeug.test import TestResponse

from dashboard.db import Database
from tests.idempotency.conftest import Door
from tests.idempotency.host import ORDER, Shop
from tests.services.reserving import conflicts, let_lease_end, record, records

KEY = {"Idempotency-Key": "k-1"}


def kept_headers(answer: TestResponse) -> dict[str, str]:
    return {name: value for name, value in answer.headers.items() if not name.startswith("Idempoten")}


def test_a_repeat_gets_the_same_bytes_and_nothing_is_done_again(door: Door, database: Database) -> None:
    shop = Shop(database)
    client = door(shop)
    first = client.post("/charges/1", json=ORDER, headers=KEY)
    again = client.post("/charges/1", json=ORDER, headers={"Idempotency-Key": '"k-1"'})
    assert (first.status_code, first.json, len(shop.effects)) == (201, {"charge": "ch_1"}, 1)
    assert (again.status_code, again.data) == (first.status_code, first.data)
    assert again.headers["Idempotent-Replayed"] == "true"
    assert "Idempotent-Replayed" not in first.headers
    assert record(database).replay_count == 1


def test_only_headers_that_belong_to_the_answer_are_kept(door: Door, sqlite_database: Database) -> None:
    client = door(Shop(sqlite_database))
    client.post("/charges/1", json=ORDER, headers=KEY)
    again = client.post("/charges/1", json=ORDER, headers=KEY)
    assert kept_headers(again) == {
        "Content-Type": "application/json",
        "Location": "/charges/1",
        "Content-Length": str(len(again.data)),
    }
    assert record(sqlite_database).response_headers == [
        ["Content-Type", "application/json"],
        ["Location", "/charges/1"],
    ]


def test_the_expiry_is_published_with_each_answer(door: Door, sqlite_database: Database) -> None:
    client = door(Shop(sqlite_database))
    first, again = (client.post("/charges/1", json=ORDER, headers=KEY) for _ in range(2))
    assert first.headers["Idempotency-Expires-In"] == str(30 * 24 * 3600)
    assert 30 * 24 * 3600 - 60 < int(again.headers["Idempotency-Expires-In"]) <= 30 * 24 * 3600


def test_other_content_is_refused_with_the_names_of_the_fields(door: Door, database: Database) -> None:
    shop = Shop(database)
    client = door(shop)
    client.post("/charges/1", json=ORDER, headers=KEY)
    other = client.post("/charges/1", json={**ORDER, "amount": "1.00"}, headers={**KEY, "X-Request-Id": "r-2"})
    assert (other.status_code, other.mimetype) == (409, "application/problem+json")
    assert other.json is not None
    assert (other.json["code"], other.json["fields"]) == ("idempotency_key_reused", ["amount"])
    assert len(shop.effects) == 1
    (noted,) = conflicts(database)
    assert (noted.fields, noted.correlation_id) == (["amount"], "r-2")


@pytest.mark.parametrize("address", ["/charges/2", "/charges/1?notify=no"])
def test_another_address_is_other_content(door: Door, sqlite_database: Database, address: str) -> None:
    shop = Shop(sqlite_database)
    client = door(shop)
    client.post("/charges/1", json=ORDER, headers=KEY)
    other = client.post(address, json=ORDER, headers=KEY)
    assert other.status_code == 409
    assert other.json is not None
    assert other.json["fields"] == ["@target"]
    assert len(shop.effects) == 1


def test_work_in_hand_is_not_started_again(door: Door, sqlite_database: Database) -> None:
    shop = Shop(sqlite_database)
    client = door(shop)
    inside: dict[str, TestResponse] = {}

    def work() -> dict[str, bool]:
        inside["second"] = door(shop).post("/charges/1", json=ORDER, headers=KEY)
        return {"ok": True}

    shop.behaviour = work
    client.post("/charges/1", json=ORDER, headers=KEY)
    second = inside["second"]
    assert second.status_code == 202
    assert second.json is not None
    assert (second.json["state"], second.json["code"]) == ("processing", "idempotency_in_progress")
    assert second.headers["Location"] == "/api/v1/idempotency/charge_order/k-1"
    assert 1 <= int(second.headers["Retry-After"]) <= 30


def test_a_caller_without_the_right_gets_no_body(door: Door, database: Database) -> None:
    """Fault 31: a replay after the caller lost its role."""
    shop = Shop(database)
    client = door(shop)
    client.post("/charges/1", json=ORDER, headers=KEY)
    shop.allowed = False
    for body in (ORDER, {"order": "other"}):
        answer = client.post("/charges/1", json=body, headers=KEY)
        assert (answer.status_code, answer.data) == (403, b"")
    assert (len(shop.effects), record(database).replay_count, conflicts(database)) == (1, 0, [])


def test_a_lease_that_ended_leaves_the_key_pending(door: Door, sqlite_database: Database) -> None:
    shop = Shop(sqlite_database)

    def work() -> bytes:
        let_lease_end(sqlite_database)
        return bytes(door(shop).post("/charges/1", json=ORDER, headers=KEY).data)

    shop.behaviour = work
    inner = door(shop).post("/charges/1", json=ORDER, headers=KEY)
    assert b"idempotency_pending" in inner.data
    assert record(sqlite_database).state == "completed"


def test_get_needs_no_key(sqlite_database: Database) -> None:
    shop = Shop(sqlite_database)
    assert shop.wsgi().get("/charges/1").status_code == 405
    assert shop.wsgi().post("/elsewhere").status_code == 404
    assert records(sqlite_database) == []


def test_a_key_may_be_left_out_where_it_is_not_required(door: Door, sqlite_database: Database) -> None:
    shop = Shop(sqlite_database, required=False)
    for _ in range(2):
        assert door(shop).post("/charges/1", json=ORDER).status_code == 201
    assert (len(shop.effects), records(sqlite_database)) == (2, [])
