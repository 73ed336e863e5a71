"""An endpoint in PHP does its work once, however often and however its request is sent."""

import json
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import select, update
from sqlalchemy.orm import Session

from dashboard.db import clock, reading, transact
from dashboard.models import IdempotencyConflict, IdempotencyRecord
from dashboard.services import audit
from tests.php.conftest import Shop

BODY = '{"order":"452","amount":"318.93"}'
SAME = ' { "amount": "318.93", "order": "452" } '
OTHER = '{"order":"452","amount":"1.00","note":"x"}'
AT_ONCE = 50


def record(shop: Shop) -> IdempotencyRecord:
    with reading(shop.database) as session:
        assert audit.verify(session).intact
        return session.scalars(select(IdempotencyRecord)).one()


def end_the_lease(shop: Shop) -> None:
    def unit(session: Session) -> None:
        session.scalars(select(IdempotencyRecord)).one().lease_until = clock(session) - timedelta(seconds=1)

    transact(shop.database, unit)


def test_fifty_processes_with_one_key_make_one_charge(shop: Shop) -> None:
    processes = [shop.start("charge", "key-1", BODY) for _ in range(AT_ONCE)]
    answers: list[Any] = []
    for process in processes:
        out, err = process.communicate(timeout=120)
        assert process.returncode == 0, err
        answers.append(json.loads(out))
    assert shop.charges() == ["452 318.93 key-1"]
    assert {answer["status"] for answer in answers} <= {201, 202}
    assert {answer["body"] for answer in answers if answer["status"] == 201} == {'{"id":"ch_452"}'}
    assert sum(answer["status"] == 201 and len(answer["headers"]) == 1 for answer in answers) == 1, "the others replay"
    assert record(shop).state == "completed"


def test_the_same_content_gets_the_same_bytes_and_other_content_a_conflict(shop: Shop) -> None:
    shop.run("charge", "key-1", BODY)
    again = shop.run("charge", "key-1", SAME)
    assert (again["status"], again["body"]) == (201, '{"id":"ch_452"}')
    assert ["Idempotent-Replayed", "true"] in again["headers"]
    other = shop.run("charge", "key-1", OTHER)
    assert (other["status"], json.loads(other["body"])["code"]) == (409, "idempotency_key_reused")
    assert shop.charges() == ["452 318.93 key-1"]
    kept = record(shop)
    assert (kept.replay_count, kept.conflict_count, kept.conflicted) == (1, 1, 1)
    with reading(shop.database) as session:
        conflict = session.scalars(select(IdempotencyConflict)).one()
        assert sorted(conflict.fields or []) == ["amount", "note"]


def test_a_crash_after_the_effect_is_never_run_again(shop: Shop) -> None:
    assert shop.run("charge", "key-1", BODY, misbehave="die") is None
    assert shop.run("charge", "key-1", BODY)["status"] == 202
    end_the_lease(shop)
    for _ in range(2):
        answer = shop.run("charge", "key-1", BODY)
        assert (answer["status"], ["Retry-After", "30"] in answer["headers"]) == (202, True)
    assert len(shop.charges()) == 1
    assert record(shop).state == "pending"


def test_a_lost_answer_leaves_the_key_pending(shop: Shop) -> None:
    assert shop.run("charge", "key-1", BODY, misbehave="lose")["status"] == 202
    assert shop.run("charge", "key-1", BODY)["status"] == 202
    assert len(shop.charges()) == 1
    assert record(shop).state == "pending"


def test_what_certainly_did_not_begin_may_be_sent_again(shop: Shop) -> None:
    assert shop.run("charge", "key-1", BODY, misbehave="refuse")["status"] == 503
    assert shop.run("charge", "key-1", '{"order":1}')["status"] == 400
    assert shop.run("charge", "key-1", '{"order":')["status"] == 400
    assert shop.run("charge", "key-1", BODY)["status"] == 201
    assert len(shop.charges()) == 1


def test_a_key_whose_answer_was_purged_is_not_new(shop: Shop) -> None:
    shop.run("charge", "key-1", BODY)

    def unit(session: Session) -> None:
        row = session.scalars(select(IdempotencyRecord)).one()
        row.expires_at = clock(session) - timedelta(days=1)

    transact(shop.database, unit)
    assert shop.run("charge", "key-1", BODY)["status"] == 410
    assert shop.run("charge", "key-1", OTHER)["status"] == 409
    assert len(shop.charges()) == 1


@pytest.mark.parametrize(("state", "status"), [("completed", 200), ("failed", 409)])
def test_what_ended_without_an_answer_says_what_is_known(shop: Shop, state: str, status: int) -> None:
    shop.run("charge", "key-1", BODY)
    forgotten = {"state": state, "response_body": None, "response_status": None}
    transact(shop.database, lambda session: session.execute(update(IdempotencyRecord).values(**forgotten)))
    assert shop.run("charge", "key-1", BODY)["status"] == status
    assert len(shop.charges()) == 1
