"""A token of one tenant gets nothing of another, whatever it names, over every route; and it changes nothing there."""

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel
from sqlalchemy import select
from sqlalchemy.orm import Session

from dashboard.api.describing import Described
from dashboard.api.document import operations
from dashboard.db import Database, reading, transact
from dashboard.models import (
    Action,
    IdempotencyRecord,
    Operation,
    OperationEvent,
    ReconciliationFinding,
    ReconciliationRun,
)
from tests import factories
from tests.api.conftest import Program, application, make_token

SECRET = "secret-of-b"
LEASE = "lease-of-b"
TABLES = (Operation, OperationEvent, IdempotencyRecord, Action, ReconciliationFinding)


@dataclass(frozen=True)
class House:
    """Two tenants under one roof: what B has, and a program of A that may do everything."""

    database: Database
    app: Flask
    intruder: Program
    names: dict[str, list[Any]]


@pytest.fixture(scope="module")
def house(sqlite_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    path = shutil.copy(sqlite_template, tmp_path_factory.mktemp("house") / "house.sqlite3")
    database = Database(f"sqlite:///{path}")
    action, run = transact(database, _furnish)
    app = application(database)
    owner = Program(app.test_client(), make_token(database, tenant="b"))
    reserve = {"operation": "pay", "payload": {"note": SECRET}}
    owner_token = owner.post("/idempotency/reserve", {**reserve, "key": "open-of-b"}).json["owner_token"]
    mine = owner.post("/idempotency/reserve", {**reserve, "key": "key-of-b"}).json["owner_token"]
    settled = {"operation": "pay", "key": "key-of-b", "owner_token": mine, "answer": {"status": 200, "body": SECRET}}
    assert owner.post("/idempotency/complete", settled).status_code == 200
    owner.post("/operations/b-op/actions", {"action": "close", "revision": 1, "reason_code": "other", "note": SECRET})
    made = owner.post("/plans", {"action": "close", "operation_ids": ["b-review"]})
    plan = made.json["plan_id"]
    names: dict[str, list[Any]] = {
        "operation_id": ["b-op", "b-review"],
        "operation_ids": [["b-op", "b-review"]],
        "number": [action, run, plan],
        "action": ["requeue", "close", "escalate"],
        "operation": ["pay", "api:action"],
        "key": ["key-of-b", "open-of-b", "k-1"],
        "owner_token": [owner_token],
        "lease_token": [LEASE],
    }
    yield House(database, app, Program(app.test_client(), make_token(database, tenant="a")), names)
    database.dispose()


def _furnish(session: Session) -> tuple[int, int]:
    kept: dict[str, Any] = {"tenant": "b", "remote_id": SECRET, "expected": {"note": SECRET}, "correlation_id": SECRET}
    held = {"lease_token": LEASE, "lease_until": factories.NOW + timedelta(days=3650)}
    working = factories.operation(session, operation_id="b-op", state="processing", **held, **kept)
    review = factories.operation(session, operation_id="b-review", **kept)
    factories.operation(session, operation_id="b-due", state="pending", **kept)
    factories.event(session, working, reason=SECRET)
    run = ReconciliationRun(
        state="finished", origin="worker", started_by=SECRET, observe=False, started_at=factories.NOW
    )
    action = Action(
        operation_id=review.id, tenant="b", type=review.type, action="close", state="proposed", idempotency_key="f",
        revision=1, reason_code="other", note=SECRET, risk="low", snapshot={"note": SECRET}, requested_by="ana@b",
        requested_at=factories.NOW, needed=1, binding="x",
    )  # fmt: skip
    session.add_all([run, action])
    session.flush()
    finding = ReconciliationFinding(
        run_id=run.id, operation_id=review.id, tenant="b", type=review.type, at=factories.NOW, state="manual_review",
        attempts=1, verdict="absent", response="review", applied=True, reason=SECRET,
    )  # fmt: skip
    session.add(finding)
    session.flush()
    return action.id, run.id


@settings(max_examples=150, derandomize=True, deadline=None, database=None)
@given(st.data())
def test_a_token_of_one_tenant_gets_and_changes_nothing_of_another(house: House, data: st.DataObject) -> None:
    api = house.app.extensions["dashboard.api"]
    calls = list(operations(api))
    before = _state_of(house.database)
    rule, method, _, described = data.draw(st.sampled_from(calls), label="route")
    values = {name: data.draw(st.sampled_from(house.names[name]), label=name) for name in sorted(rule.arguments)}
    with api.test_request_context():
        path = api.url_map.bind("localhost").build(rule.endpoint, values, method=method)
    answer = _call(house, path.removeprefix("/api/v1"), method, _body(described, house, data), data)
    assert answer.status_code < 500, path
    assert SECRET not in answer.text, path
    assert _state_of(house.database) == before, path
    if values and rule.endpoint != "keys.show":
        assert answer.status_code in {400, 403, 404, 409, 422}, (path, answer.text)


def test_every_route_is_tried(house: House) -> None:
    named = {name for rule, *_ in operations(house.app.extensions["dashboard.api"]) for name in rule.arguments}
    assert named <= house.names.keys()


def _call(house: House, path: str, method: str, body: Any, data: st.DataObject) -> Any:
    if method == "GET":
        query = data.draw(st.sampled_from(["", "?q=b-", "?limit=200", "?sort=oldest"]), label="query")
        return house.intruder.get(path + (query if path == "/operations" else ""))
    key = data.draw(st.sampled_from(["new", "key-of-b", "k-1", "k-2", "k-3", "k-4", "k-5"]), label="key")
    return house.intruder.post(path, body, key=key)


def _body(described: Described, house: House, data: st.DataObject) -> dict[str, Any]:
    """A body that fits, with the names of what B has wherever a name goes."""
    if described.body is None:
        return {}
    plain: dict[str, Any] = {
        "types": ["charge_order"], "type": "charge_order", "entity_type": "order", "entity_id": "452",
        "destination": "payments", "reason": "taken back", "cause": "not_sent", "revision": 1,
        "reason_code": "other", "note": "Somebody of another house asks for it.", "payload": {"note": "of a"},
    }  # fmt: skip
    fields: dict[str, type[BaseModel]] = described.body.model_fields  # type: ignore[assignment]
    named = {name: data.draw(st.sampled_from(house.names[name]), label=name) for name in fields if name in house.names}
    return {name: value for name, value in {**plain, **named}.items() if name in fields}


def _state_of(database: Database) -> list[Any]:
    """Everything that B has."""
    with reading(database) as session:
        own = session.scalars(select(Operation.id).where(Operation.tenant == "b")).all()
        rows: list[Any] = list(
            session.execute(select(OperationEvent.__table__).where(OperationEvent.operation_id.in_(own)))
        )
        for table in (Operation, IdempotencyRecord, Action, ReconciliationFinding):
            rows += session.execute(select(table.__table__).where(table.__table__.c.tenant == "b")).all()
        return rows
