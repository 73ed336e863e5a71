"""What a client may send by mistake has one rule each, and none of it has an effect twice."""

import io
from typing import Any

import pytest
from flask import request

from dashboard.db import Database
from dashboard.idempotency import Profile
from tests.idempotency.conftest import Door
from tests.idempotency.host import ORDER, Shop
from tests.services.reserving import records

JSON = "application/json"


def post(client: Any, body: bytes | str, *, key: str | None = "k-1", kind: str = JSON, **options: Any) -> Any:
    headers = {} if key is None else {"Idempotency-Key": key}
    return client.post("/charges/1", data=body, content_type=kind, headers=headers, buffered=True, **options)


@pytest.mark.parametrize(
    ("key", "code"),
    [
        (None, "missing"),
        ("", "empty"),
        ('""', "empty"),
        ("x" * 256, "too_long"),
        ("clé", "characters"),
        ('"open', "quotes"),
        ("a, b", "repeated"),
    ],
)
def test_a_key_that_is_none_is_refused(door: Door, sqlite_database: Database, key: str | None, code: str) -> None:
    shop = Shop(sqlite_database)
    answer = post(door(shop), "{}", key=key)
    assert (answer.status_code, answer.mimetype) == (400, "application/problem+json")
    assert answer.json["code"] == f"idempotency_key_{code}"
    assert (shop.effects, records(sqlite_database)) == ([], [])


def test_two_headers_with_a_key_are_refused(sqlite_database: Database) -> None:
    headers = [("Idempotency-Key", "a"), ("Idempotency-Key", "b")]
    answer = Shop(sqlite_database).wsgi().post("/charges/1", json=ORDER, headers=headers)
    assert answer.status_code == 400


@pytest.mark.parametrize("other", ["K-1", '"k-1 "'])
def test_keys_that_differ_in_case_or_a_blank_within_quotes_are_two(
    door: Door, sqlite_database: Database, other: str
) -> None:
    shop = Shop(sqlite_database)
    for key in ("k-1", "k-1 ", '"k-1"', other):
        assert post(door(shop), "{}", key=key).status_code == 201
    assert len(shop.effects) == 2


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ('{"a":1', "payload_not_json"),
        ('{"a":1,"a":2}', "payload_duplicate_name"),
        ('{"a":NaN}', "payload_number"),
        ('{"a":"\\ud800"}', "text_surrogate"),
        ("[" * 5000 + "]" * 5000, "payload_too_deep"),
        (b"\xff\xfe", "payload_not_json"),
    ],
)
def test_json_without_a_single_meaning_is_refused(
    door: Door, sqlite_database: Database, body: str | bytes, code: str
) -> None:
    shop = Shop(sqlite_database)
    answer = post(door(shop), body)
    assert (answer.status_code, answer.json["code"]) == (400, code)
    assert (shop.effects, records(sqlite_database)) == ([], [])


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ('{"a":1,"b":2}', '{ "b": 2.0, "a": 1e0 }'),
        ('{"a":0}', '{"a":-0}'),
        ('{"a":"é"}', '{"a":"\\u00e9"}'),
        (b'{"a":"\xc3\xa9"}', '{"a":"é"}'.encode("utf-16")),
    ],
)
def test_what_means_the_same_is_the_same(
    door: Door, sqlite_database: Database, one: str | bytes, other: str | bytes
) -> None:
    shop = Shop(sqlite_database)
    assert [post(door(shop), body).status_code for body in (one, other)] == [201, 201]
    assert len(shop.effects) == 1


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ('{"a":9007199254740993}', '{"a":9007199254740992}'),
        ('{"a":"é"}', '{"a":"e\\u0301"}'),
        ('{"a":1}', '{"a":"1"}'),
        ('{"a":[1,2]}', '{"a":[2,1]}'),
        ("", "{}"),
    ],
)
def test_what_differs_is_other_content(door: Door, sqlite_database: Database, one: str, other: str) -> None:
    shop = Shop(sqlite_database)
    assert [post(door(shop), body).status_code for body in (one, other)] == [201, 409]


def test_rules_name_fields_that_do_not_count_and_lists_without_order(door: Door, sqlite_database: Database) -> None:
    shop = Shop(sqlite_database, ignored={"sent_at"}, unordered={"items"})
    bodies = ('{"sent_at":1,"items":[1,2]}', '{"sent_at":2,"items":[2,1]}', '{"items":[1]}')
    answers = [post(door(shop), body) for body in bodies]
    assert [answer.status_code for answer in answers] == [201, 201, 409]
    assert answers[2].json["fields"] == ["items"]


def multipart(boundary: str, *, name: str = "a.txt", content: str = "hello") -> dict[str, Any]:
    body = (
        f'--{boundary}\r\nContent-Disposition: form-data; name="order"\r\n\r\n452\r\n'
        f'--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n'
        f"Content-Type: text/plain\r\n\r\n{content}\r\n--{boundary}--\r\n"
    )
    return {"body": body.encode(), "kind": f"multipart/form-data; boundary={boundary}"}


def test_a_new_boundary_is_the_same_content_and_another_file_is_not(door: Door, sqlite_database: Database) -> None:
    shop = Shop(sqlite_database)
    client = door(shop)
    same = [post(client, **multipart(boundary)).status_code for boundary in ("one", "another-one")]
    assert (same, len(shop.effects)) == ([201, 201], 1)
    for change in ({"content": "hellO"}, {"name": "b.txt"}):
        answer = post(client, **multipart("one", **change))
        assert (answer.status_code, answer.json["fields"]) == (409, ["file"])


def test_multipart_that_ends_too_early_is_refused(door: Door, sqlite_database: Database) -> None:
    whole = multipart("one")
    answer = post(door(Shop(sqlite_database)), whole["body"][:-20], kind=whole["kind"])
    assert (answer.status_code, answer.json["code"]) == (400, "payload_not_multipart")


def test_a_form_is_compared_by_its_fields(door: Door, sqlite_database: Database) -> None:
    shop = Shop(sqlite_database)
    kind = "application/x-www-form-urlencoded"
    codes = [post(door(shop), body, kind=kind).status_code for body in ("a=1&b=+", "b=%20&a=1", "a=1&b=", "a=1&a=2")]
    assert codes == [201, 201, 409, 409]


@pytest.mark.parametrize("body", ["a=%ff", b"a=\xff", "&".join("a=1" for _ in range(2000))])
def test_a_form_that_cannot_be_read_is_refused(door: Door, sqlite_database: Database, body: str | bytes) -> None:
    answer = post(door(Shop(sqlite_database)), body, kind="application/x-www-form-urlencoded")
    assert (answer.status_code, answer.json["code"]) == (400, "payload_not_a_form")


def read_form() -> None:
    assert request.form


def test_a_form_that_was_read_before_is_compared_all_the_same(sqlite_database: Database) -> None:
    """A check against forged requests reads the form before the view does, and leaves an empty stream."""
    shop = Shop(sqlite_database)
    client = shop.flask()
    client.application.before_request(read_form)
    assert [post(client, **multipart(boundary)).status_code for boundary in ("one", "two")] == [201, 201]
    assert post(client, **multipart("one", content="other")).status_code == 409
    form = "application/x-www-form-urlencoded"
    assert [post(client, body, key="k-2", kind=form).status_code for body in ("a=1", "a=1", "a=2")] == [201, 201, 409]


def test_a_body_that_somebody_else_took_is_refused(sqlite_database: Database) -> None:
    shop = Shop(sqlite_database)
    client = shop.flask()
    client.application.before_request(lambda: request.stream.read() and None)
    answer = post(client, "{}")
    assert (answer.status_code, answer.json["code"], shop.effects) == (400, "payload_incomplete", [])


@pytest.mark.parametrize("encoding", ["gzip", "br"])
def test_a_compressed_body_is_compared_byte_for_byte(door: Door, sqlite_database: Database, encoding: str) -> None:
    shop = Shop(sqlite_database)
    headers = {"Idempotency-Key": "k-1", "Content-Encoding": encoding}
    codes = [
        door(shop).post("/charges/1", data=body, content_type=JSON, headers=headers).status_code
        for body in (b"\x1f\x8b1", b"\x1f\x8b1", b"\x1f\x8b2")
    ]
    assert codes == [201, 201, 409]


def test_json_beyond_a_mebibyte_is_compared_byte_for_byte(door: Door, sqlite_database: Database) -> None:
    shop = Shop(sqlite_database)
    large = '{"a":"' + "x" * 1024 * 1024 + '"}'
    assert [post(door(shop), body).status_code for body in (large, large, large + " ")] == [201, 201, 409]


def test_an_object_of_many_fields_is_one_field(door: Door, sqlite_database: Database) -> None:
    shop = Shop(sqlite_database)
    wide = [{f"f{number}": last for number in range(300)} for last in (1, 2)]
    first, other = (door(shop).post("/charges/1", json=body, headers={"Idempotency-Key": "k-1"}) for body in wide)
    assert (first.status_code, other.status_code) == (201, 409)
    assert other.json is not None
    assert other.json["fields"] == [""]


def test_the_profile_of_the_draft_answers_422_and_409_and_takes_quoted_keys(
    door: Door, sqlite_database: Database
) -> None:
    shop = Shop(sqlite_database, profile=Profile.IETF)
    client = door(shop)
    assert post(client, "{}", key="k-1").json["code"] == "idempotency_key_unquoted"
    assert post(client, "{}", key='"k-1"').status_code == 201
    assert post(client, '{"a":1}', key='"k-1"').status_code == 422
    inner: list[Any] = []

    def work() -> str:
        inner.append(post(door(shop), "{}", key='"k-2"'))
        return "ok"

    shop.behaviour = work
    post(client, "{}", key='"k-2"')
    assert (inner[0].status_code, inner[0].json["code"]) == (409, "idempotency_in_progress")
    assert "Retry-After" in inner[0].headers


def test_an_empty_stream_is_an_empty_body(door: Door, sqlite_database: Database) -> None:
    shop = Shop(sqlite_database)
    options = {"input_stream": io.BytesIO(b""), "headers": {"Idempotency-Key": "k-1"}}
    assert [door(shop).post("/charges/1", **options).status_code for _ in range(2)] == [201, 201]
    assert len(shop.effects) == 1
