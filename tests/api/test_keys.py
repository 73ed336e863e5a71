"""Idempotency keys of hosts over HTTP: one owner, one answer, sent again byte for byte."""

import base64
from datetime import datetime, timedelta

import pytest
from sqlalchemy import select

from dashboard.api.application import create_api
from dashboard.db import Database, reading
from dashboard.domain.permissions import Permission
from dashboard.domain.policy import Policies, TypePolicy
from dashboard.models import IdempotencyRecord
from tests.api.conftest import Enter, Program, make_token
from tests.services.reserving import let_lease_end

KEY = {"operation": "pay", "key": "order-452"}
CONTENT = {**KEY, "payload": {"amount": "10.00", "card": "visa"}}


def test_a_key_has_one_owner_and_then_one_answer(program: Enter) -> None:
    host = program(Permission.RESERVE)
    owned = host.post("/idempotency/reserve", CONTENT)
    assert (owned.status_code, owned.json["outcome"], owned.json["state"]) == (201, "owned", "processing")
    waiting = host.post("/idempotency/reserve", CONTENT)
    assert (waiting.status_code, waiting.json["outcome"]) == (202, "unfinished")
    assert int(waiting.headers["Retry-After"]) > 0
    answer = {"status": 201, "headers": [["Content-Type", "text/plain"], ["Set-Cookie", "a=b"]], "body": "paid ñ"}
    settled = {**KEY, "owner_token": owned.json["owner_token"], "answer": answer, "resource_ids": ["p-1"]}
    assert host.post("/idempotency/complete", settled).json["outcome"] == "replay"
    replay = host.post("/idempotency/reserve", CONTENT).json
    assert replay["answer"] == {**answer, "headers": [["Content-Type", "text/plain"]], "encoding": "utf-8"}
    assert (replay["state"], replay["resource_ids"]) == ("completed", ["p-1"])


def test_a_reservation_whose_answer_was_lost_is_asked_for_again(program: Enter) -> None:
    host = program(Permission.RESERVE)
    first = host.post("/idempotency/reserve", CONTENT, key="call-1")
    assert host.post("/idempotency/reserve", CONTENT, key="call-1").data == first.data


@pytest.mark.parametrize("end", ["complete", "pending", "release", "lease"])
def test_a_key_that_is_no_longer_owned_is_not_given_again(program: Enter, database: Database, end: str) -> None:
    """Whoever repeats the call would do the work a second time."""
    host = program(Permission.RESERVE)
    owned = {**KEY, "owner_token": host.post("/idempotency/reserve", CONTENT, key="call-1").json["owner_token"]}
    if end == "lease":
        let_lease_end(database)
    else:
        host.post(f"/idempotency/{end}", owned)
    lost = host.post("/idempotency/reserve", CONTENT, key="call-1")
    assert (lost.status_code, lost.json["code"]) == (409, "changed_meanwhile")


def test_not_finished_is_no_answer_that_stays(program: Enter) -> None:
    host = program(Permission.RESERVE)
    token = host.post("/idempotency/reserve", CONTENT).json["owner_token"]
    assert host.post("/idempotency/reserve", CONTENT, key="poll").status_code == 202
    host.post("/idempotency/fail", {**KEY, "owner_token": token, "answer": {"status": 402, "body": "declined"}})
    again = host.post("/idempotency/reserve", CONTENT, key="poll")
    assert (again.status_code, again.json["state"], again.json["answer"]["status"]) == (200, "failed", 402)


def test_other_content_is_a_conflict_that_is_counted(program: Enter, database: Database) -> None:
    host = program(Permission.RESERVE)
    host.post("/idempotency/reserve", CONTENT)
    other = host.post("/idempotency/reserve", {**KEY, "payload": {"amount": "11.00", "card": "visa"}})
    assert (other.status_code, other.json["code"], other.json["fields"]) == (409, "idempotency_key_reused", ["amount"])
    assert other.mimetype == "application/problem+json"
    with reading(database) as session:
        mine = session.scalars(select(IdempotencyRecord).where(IdempotencyRecord.operation == "pay")).one()
        assert mine.conflict_count == 1


def test_only_the_owner_settles(program: Enter) -> None:
    host = program(Permission.RESERVE)
    host.post("/idempotency/reserve", CONTENT)
    for step in ("complete", "fail", "pending", "release"):
        refused = host.post(f"/idempotency/{step}", {**KEY, "owner_token": "0" * 32})
        assert (refused.status_code, refused.json["code"]) == (409, "changed_meanwhile"), step


def test_a_key_is_given_back_or_left_pending(program: Enter) -> None:
    host = program(Permission.RESERVE)
    owned = {**KEY, "owner_token": host.post("/idempotency/reserve", CONTENT).json["owner_token"]}
    assert host.post("/idempotency/release", owned).status_code == 200
    assert host.get("/idempotency/pay/order-452").status_code == 404
    again = {**KEY, "owner_token": host.post("/idempotency/reserve", CONTENT).json["owner_token"]}
    assert host.post("/idempotency/pending", {**again, "operation_id": "order-452"}).json["state"] == "pending"
    assert host.get("/idempotency/pay/order-452").json["state"] == "pending"


def test_bytes_that_are_no_text_are_kept_as_they_are(sqlite_program: Enter) -> None:
    host = sqlite_program(Permission.RESERVE)
    token = host.post("/idempotency/reserve", CONTENT).json["owner_token"]
    body = base64.b64encode(b"\xff\x00\xfe").decode()
    done = host.post(
        "/idempotency/complete",
        {**KEY, "owner_token": token, "answer": {"status": 200, "body": body, "encoding": "base64"}},
    )
    assert (done.json["answer"]["body"], done.json["answer"]["encoding"]) == (body, "base64")


def test_a_key_may_hold_slashes_and_blanks(sqlite_program: Enter) -> None:
    host = sqlite_program(Permission.RESERVE)
    host.post("/idempotency/reserve", {**CONTENT, "key": "/orders//452 a"})
    assert host.get("/idempotency/pay/%2Forders%2F%2F452%20a").json["key"] == "/orders//452 a"


def test_names_of_this_api_and_content_said_twice_are_refused(sqlite_program: Enter) -> None:
    host = sqlite_program(Permission.RESERVE)
    ours = host.post("/idempotency/reserve", {**CONTENT, "operation": "api:register"})
    assert (ours.status_code, ours.json["code"]) == (422, "operation_reserved")
    twice = host.post("/idempotency/reserve", {**CONTENT, "fingerprint": "0" * 64})
    assert (twice.status_code, {error["code"] for error in twice.json["errors"]}) == (422, {"one_of"})


def test_blanks_at_the_ends_of_a_key_count(sqlite_program: Enter) -> None:
    host = sqlite_program(Permission.RESERVE)
    taken = [host.post("/idempotency/reserve", {**CONTENT, "key": key}).status_code for key in ("k ", "k", " k", "k ")]
    assert taken == [201, 201, 201, 202]
    assert host.get("/idempotency/pay/k%20").json["key"] == "k "


@pytest.mark.parametrize("key", ["", "   ", "k" * 256, "k\n", "clé"])
def test_what_is_no_key_is_refused_by_name(sqlite_program: Enter, key: str) -> None:
    refused = sqlite_program(Permission.RESERVE).post("/idempotency/reserve", {**CONTENT, "key": key})
    assert (refused.status_code, [each["field"] for each in refused.json["errors"]]) == (400, ["key"])
    assert refused.json["code"] in {"field_form", "field_size"}


def test_for_how_long_keys_are_kept_is_published(sqlite_program: Enter) -> None:
    rules = sqlite_program(Permission.RESERVE, types=("charge_order",)).get("/idempotency/policy").json["operations"]
    days = {each["operation"]: each["retention_seconds"] / 86400 for each in rules}
    assert days == {"*": 30}


def test_a_key_named_after_a_type_is_kept_as_long_as_its_policy_says(sqlite_database: Database) -> None:
    policies = Policies(types={name: TypePolicy(retention=timedelta(days=90)) for name in ("pay", "refund")})
    app = create_api(database=sqlite_database, policies=policies, secret="of the tests", words=str)
    host = Program(app.test_client(), make_token(sqlite_database, Permission.RESERVE, types=("pay",)))
    rules = host.get("/idempotency/policy").json["operations"]
    assert {each["operation"]: each["retention_seconds"] / 86400 for each in rules} == {"pay": 90, "*": 30}
    owner = host.post("/idempotency/reserve", CONTENT).json["owner_token"]
    done = host.post("/idempotency/complete", {**KEY, "owner_token": owner}).json
    kept = datetime.fromisoformat(done["expires_at"]) - datetime.fromisoformat(done["completed_at"])
    assert kept == timedelta(days=90)
