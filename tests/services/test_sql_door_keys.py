"""Keys through the statements of docs/integrate-sql.md: the same rows as through the Python door."""

import json
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import select
from sqlalchemy.orm import Session

from dashboard.db import Database, reading, transact
from dashboard.domain.policy import Policies
from dashboard.domain.reservations import Answer, Conflict, Owned, Replay
from dashboard.models import IdempotencyConflict, IdempotencyRecord
from dashboard.services import reservations, retention
from tests.services.test_retention import JANITOR, add_record
from tests.sql_door import Door, in_sql, pairs

pytestmark = pytest.mark.parametrize("engine_name", ["postgresql", "mariadb"])

FINGERPRINT = "f" * 64
SCOPE = {"tenant": "tienda-es", "operation": "charge_order"}


def reserve(door: Door, key: str, **values: object) -> int:
    given = {"lease": 60, "token": f"token of {key}", "correlation_id": "c-1", "operation_id": None, **values}
    digests = json.dumps({"amount": "aa"})
    return door.changed("reserve", **SCOPE, key=key, fingerprint=FINGERPRINT, field_digests=digests, **given)


def request(key: str, **values: Any) -> reservations.Request:
    given: dict[str, Any] = {"fingerprint": FINGERPRINT, "digests": {"amount": "aa"}, "correlation_id": "c-1", **values}
    return reservations.Request("tienda-es", "charge_order", key, **given)


def owned(session: Session, key: str, **values: Any) -> Owned:
    found = reservations.reserve(session, request(key, **values))
    assert isinstance(found, Owned)
    return found


def settled_in_python(session: Session) -> None:
    answer = Answer(201, (("Content-Type", "text/plain"),), b"\x00\xff")
    about = {"external_reference": "ch_1", "operation_id": "op-1"}
    month = timedelta(days=30)
    reservations.complete(session, owned(session, "p-1"), answer, retention=month, resource_ids=["pay_1"], **about)
    reservations.fail(session, owned(session, "p-2"), answer, retention=month)
    reservations.leave_pending(session, owned(session, "p-3"), **about)
    reservations.release(session, owned(session, "p-4"))
    owned(session, "p-5", lease=timedelta(0))
    reservations.reserve(session, request("p-5"))
    reservations.reserve(session, request("p-1"))
    reservations.reserve(session, request("p-1", fingerprint="0" * 64, digests={"amount": "bb"}, actor_id="host"))


def settled_in_sql(door: Door) -> None:
    def mine(key: str) -> dict[str, object]:
        return {"id": door.row("read", **SCOPE, key=key)["id"], "token": f"token of {key}"}

    answer = {"status": 201, "headers": json.dumps([["Content-Type", "text/plain"]]), "body": b"\x00\xff"}
    about = {"external_reference": "ch_1", "operation_id": "op-1"}
    nothing = {"external_reference": None, "operation_id": None}
    month = 30 * 86400
    for key in ("s-1", "s-2", "s-3", "s-4"):
        assert reserve(door, key) == 1
    assert reserve(door, "s-5", lease=0) == 1
    done = {**answer, "retention": month}
    ids = json.dumps(["pay_1"])
    assert door.changed("complete", **mine("s-1"), **done, **about, state="completed", resource_ids=ids) == 1
    assert door.changed("complete", **mine("s-2"), **done, **nothing, state="failed", resource_ids=None) == 1
    assert door.changed("leave_pending", **mine("s-3"), **about) == 1
    assert door.changed("release", **mine("s-4")) == 1
    assert door.changed("lapse", id=mine("s-5")["id"]) == 1
    number = mine("s-1")["id"]
    door.run("replayed", id=number)
    door.run("conflicted", id=number)
    conflict = {"fingerprint": "0" * 64, "fields": json.dumps(["amount"]), "actor_id": "host", "correlation_id": "c-1"}
    assert door.changed("note_conflict", id=number, **conflict) == 1


def test_every_outcome_of_a_key_leaves_the_same_rows(database: Database) -> None:
    transact(database, settled_in_python)
    in_sql(database, settled_in_sql)
    for model in (IdempotencyRecord, IdempotencyConflict):
        for python, sql in pairs(database, model):
            assert sql == python


def test_a_key_has_one_owner_and_the_others_read_what_it_stands_for(database: Database) -> None:
    assert in_sql(database, lambda door: reserve(door, "k")) == 1

    def again(door: Door) -> Any:
        return door.row("read", **SCOPE, key="k")

    with reading(database) as session:
        assert session.scalar(select(IdempotencyRecord.is_open)) == 1
    assert in_sql(database, lambda door: reserve(door, "k ")) == 1, "a blank makes another key"
    assert transact(database, lambda session: known(session, "k")) == 0
    found = in_sql(database, again)
    assert (found["state"], bool(found["in_work"]), bool(found["expired"])) == ("processing", True, False)
    late = {"id": found["id"], "token": "somebody else"}
    assert in_sql(database, lambda door: door.changed("release", **late)) == 0


def known(session: Session, key: str) -> int:
    with session.begin_nested():
        return reserve(Door(session), key)


def test_a_purged_key_is_known_and_says_that_its_answer_expired(database: Database) -> None:
    transact(database, lambda session: add_record(session, "old", age=timedelta(days=500)).id)
    retention.purge(database, policies=Policies(), actor=JANITOR)
    found = in_sql(database, lambda door: door.row("read", **SCOPE, key="old"))
    assert (found["state"], bool(found["expired"]), found["response_body"]) == ("completed", True, None)
    replay = transact(database, lambda session: reservations.reserve(session, request("old")))
    assert isinstance(replay, Replay)
    assert (replay.expired, replay.answer) == (True, None)
    other = request("old", fingerprint="0" * 64)
    conflict = transact(database, lambda session: reservations.reserve(session, other))
    assert isinstance(conflict, Conflict), "the content is compared for ever"
