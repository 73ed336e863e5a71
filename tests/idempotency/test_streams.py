"""Bodies and answers that come bit by bit, and clients that hang up."""

import io
from typing import Any

import pytest

from dashboard.db import Database
from tests.idempotency.conftest import Door
from tests.idempotency.host import Shop
from tests.services.reserving import record, records

KEY = {"Idempotency-Key": "k-1"}


def post(client: Any, body: bytes = b"{}", **options: Any) -> Any:
    return client.post("/charges/1", data=body, content_type="text/plain", headers=KEY, **{"buffered": True, **options})


def test_a_streamed_answer_is_kept_and_sent_again(door: Door, sqlite_database: Database) -> None:
    shop = Shop(sqlite_database)
    client = door(shop)
    shop.behaviour = lambda: shop.streamed(5)
    first, again = post(client), post(client)
    assert (first.data, again.data) == (b"x" * 5000, b"x" * 5000)
    assert again.headers["Content-Length"] == "5000"
    assert (shop.effects, record(sqlite_database).state) == (["charged"], "completed")


def test_an_answer_too_large_to_keep_streams_through(door: Door, sqlite_database: Database) -> None:
    shop = Shop(sqlite_database, max_answer=1500)
    client = door(shop)
    shop.behaviour = lambda: shop.streamed(5)
    assert post(client).data == b"x" * 5000
    row = record(sqlite_database)
    assert (row.state, row.response_status, row.response_body) == ("completed", None, None)
    assert post(client).json["state"] == "completed"
    assert shop.effects == ["charged"]


def test_a_client_that_hangs_up_in_a_long_answer_leaves_the_key_pending(door: Door, sqlite_database: Database) -> None:
    shop = Shop(sqlite_database, max_answer=1500)
    shop.behaviour = lambda: shop.streamed(5)
    answer = post(door(shop), buffered=False)
    assert next(answer.response) == b"x" * 1000
    answer.close()
    assert record(sqlite_database).state == "pending"


@pytest.mark.parametrize("chunks", [1, 5])
def test_an_answer_that_breaks_off_leaves_the_key_pending(door: Door, sqlite_database: Database, chunks: int) -> None:
    shop = Shop(sqlite_database, max_answer=1500)
    client = door(shop)
    shop.behaviour = lambda: shop.streamed(chunks, fault=True)
    with pytest.raises(RuntimeError):
        post(client)
    assert (record(sqlite_database).state, post(client).status_code) == ("pending", 202)


def test_a_client_that_hangs_up_before_its_body_is_whole_reserves_nothing(
    door: Door, sqlite_database: Database
) -> None:
    shop = Shop(sqlite_database)
    answer = door(shop).post(
        "/charges/1",
        input_stream=io.BytesIO(b"half"),
        headers=KEY,
        environ_overrides={"CONTENT_LENGTH": "8", "CONTENT_TYPE": "text/plain"},
    )
    assert (answer.status_code, answer.json and answer.json["code"]) == (400, "payload_incomplete")
    assert (shop.effects, records(sqlite_database)) == ([], [])


def test_a_body_without_a_length_is_read_where_the_server_ends_it(door: Door, sqlite_database: Database) -> None:
    shop = Shop(sqlite_database)
    client = door(shop)
    for body, status in ((b"one", 201), (b"one", 201), (b"two", 409)):
        environ = {"wsgi.input_terminated": True, "HTTP_TRANSFER_ENCODING": "chunked", "CONTENT_TYPE": "text/plain"}
        answer = client.post("/charges/1", input_stream=io.BytesIO(body), headers=KEY, environ_overrides=environ)
        assert answer.status_code == status
    assert shop.effects == [b"one"]


def test_a_body_without_a_known_end_is_refused(door: Door, sqlite_database: Database) -> None:
    environ = {"HTTP_TRANSFER_ENCODING": "chunked", "CONTENT_TYPE": "text/plain"}
    answer = door(Shop(sqlite_database)).post(
        "/charges/1", input_stream=io.BytesIO(b"one"), headers=KEY, environ_overrides=environ
    )
    assert (answer.status_code, records(sqlite_database)) == (411, [])


def test_a_large_body_reaches_the_handler_whole(door: Door, sqlite_database: Database) -> None:
    shop = Shop(sqlite_database)
    body = b"x" * (3 * 1024 * 1024)
    assert post(door(shop), body).status_code == 201
    assert shop.effects == [body]


@pytest.mark.parametrize("chunked", [False, True])
def test_a_body_beyond_the_limit_is_refused_before_anything_is_reserved(
    door: Door, sqlite_database: Database, chunked: Any
) -> None:
    shop = Shop(sqlite_database)
    environ = (
        {"wsgi.input_terminated": True, "HTTP_TRANSFER_ENCODING": "chunked"}
        if chunked
        else {"CONTENT_LENGTH": str(10 * 1024 * 1024 + 1)}
    )
    answer = door(shop).post(
        "/charges/1",
        input_stream=io.BytesIO(b"x" * (10 * 1024 * 1024 + 1)),
        headers=KEY,
        environ_overrides={"CONTENT_TYPE": "text/plain", **environ},
    )
    assert (answer.status_code, answer.json and answer.json["code"]) == (413, "payload_too_large")
    assert (shop.effects, records(sqlite_database)) == ([], [])
