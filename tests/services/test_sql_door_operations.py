"""Operations through the statements of docs/integrate-sql.md: the same rows as through the Python door."""

import json
from collections.abc import Callable
from datetime import timedelta
from types import MappingProxyType
from typing import Any

import pytest
from sqlalchemy import select
from sqlalchemy.orm import Session

from dashboard import ledger
from dashboard.db import Database, transact
from dashboard.domain.fingerprint import fingerprint
from dashboard.domain.policy import Policies, Retry, TypePolicy, Window
from dashboard.models import Operation, OperationEvent, OutboxMessage
from tests import factories
from tests.faults.test_retention import an_action
from tests.sql_door import Door, in_sql, pairs, statements

pytestmark = pytest.mark.parametrize("engine_name", ["postgresql", "mariadb"])

CHARGE = TypePolicy(
    name="charge_order",
    window=Window(timedelta(minutes=5)),
    deadline=timedelta(hours=24),
    retry=Retry(max_attempts=3, first=timedelta(0)),
)
POLICIES = Policies(types=MappingProxyType({"charge_order": CHARGE}))
WORKER = ledger.worker_actor().id
EXPECTED = {"order": "452", "amount": "10.00"}
NEW = {
    "tenant": "tienda-es",
    "type": "charge_order",
    "entity_type": "order",
    "entity_id": "452",
    "destination": "payments",
    "expected_version": 3,
    "idempotency_key": "order-452",
    "correlation_id": "c-1",
    "amount": "10.00",
    "currency": "EUR",
}
MESSAGE = {"sink": "hook", "topic": "order.placed", "aggregate_key": "order-452"}


def register_in_python(database: Database, name: str, **values: Any) -> None:
    message = ledger.Message(**MESSAGE, payload={"n": 1})
    new = ledger.NewOperation(operation_id=name, expected=EXPECTED, **{**NEW, **values})
    transact(database, lambda session: ledger.register(session, new, message=message, policies=POLICIES))


def register_in_sql(database: Database, name: str, **values: Any) -> int:
    def unit(door: Door) -> int:
        given = {**NEW, "expected": json.dumps(EXPECTED), "fingerprint": fingerprint(EXPECTED), "deadline": 86400}
        if door.changed("register", operation_id=name, **{**given, **values}) == 0:
            return 0
        assert door.changed("registered_event", operation_id=name, actor_id="host") == 1
        sent = {**MESSAGE, "message_id": f"msg_{name}", "payload": '{"n":1}'}
        assert door.changed("outbox", operation_id=name, **sent) == 1
        return 1

    return int(in_sql(database, unit))


def test_registering_leaves_the_same_operation_event_and_message(database: Database) -> None:
    register_in_python(database, "op-python")
    assert register_in_sql(database, "op-sql") == 1
    for model in (Operation, OperationEvent, OutboxMessage):
        for python, sql in pairs(database, model):
            assert sql == python


def test_an_id_that_is_taken_is_compared(database: Database) -> None:
    register_in_python(database, "op-1")
    if database.dialect == "postgresql":
        assert register_in_sql(database, "op-1", amount="11.00") == 0
    row = in_sql(database, lambda door: door.row("registered", operation_id="op-1"))
    assert {name: row[name] for name in ("tenant", "amount", "expected_version")} == {
        "tenant": "tienda-es",
        "amount": "10.00",
        "expected_version": 3,
    }


def claim_in_sql(door: Door) -> dict[str, Any]:
    due = door.run("due", type="charge_order").mappings().all()
    row = next(each for each in due if each["operation_id"] == "op-sql")
    held = {"id": row["id"], "token": "mine"}
    claimed = {"lease": 60, "from_state": row["state"], "revision": row["revision"]}
    assert door.changed("claim", **held, **claimed) == 1
    note(door, row["id"], from_state=row["state"])
    return held


def note(door: Door, number: int, **told: object) -> None:
    given = {"from_state": "processing", "cause": None, "reason": None, "evidence": None, **told}
    assert door.changed("event", id=number, actor_id=WORKER, **given) == 1


CH = {"remote_id": "ch_1"}
PROVEN = {"remote_id": "ch_1", "status": "paid"}
GONE = "connection refused"
OUTCOMES: dict[str, tuple[Callable[..., Any], dict[str, Any], dict[str, Any]]] = {
    "confirm": (
        lambda session, work: ledger.confirm(
            session, work, ledger.Confirmed("ch_1", {"status": "paid"}), policies=POLICIES
        ),
        CH,
        {"evidence": json.dumps(PROVEN)},
    ),
    "await": (
        lambda session, work: ledger.await_confirmation(
            session, work, ledger.Sent("ch_1", {"status": "paid"}), policies=POLICIES
        ),
        {**CH, "window": 300},
        {
            "evidence": json.dumps(PROVEN),
            "cause": "sent_unknown",
            "reason": "The destination accepted it; its confirmation comes later.",
        },
    ),
    "retry": (
        lambda session, work: ledger.schedule_retry(
            session, work, ledger.Failure(ledger.Cause.NOT_SENT, GONE), policies=POLICIES
        ),
        {"cause": "not_sent", "delay": 0, "max_attempts": 3},
        {"cause": "not_sent", "reason": GONE},
    ),
    "review": (
        lambda session, work: ledger.send_to_review(
            session, work, ledger.Failure(ledger.Cause.PERMANENT, GONE), policies=POLICIES
        ),
        {"cause": "permanent"},
        {"cause": "permanent", "reason": GONE},
    ),
}


@pytest.mark.parametrize("outcome", OUTCOMES)
def test_every_outcome_of_an_attempt_leaves_the_same_operation_and_history(database: Database, outcome: str) -> None:
    in_python, values, told = OUTCOMES[outcome]
    register_in_python(database, "op-python", expected_version=None)
    (work,) = ledger.claim(database, types={"charge_order"}, policies=POLICIES)
    transact(database, lambda session: in_python(session, work))
    register_in_sql(database, "op-sql", expected_version=None)
    held = in_sql(database, claim_in_sql)
    assert in_sql(database, lambda door: door.changed("heartbeat", **held, lease=60)) == 1

    def unit(door: Door) -> None:
        assert door.changed(outcome, **held, **values) == 1
        note(door, held["id"], **told)

    in_sql(database, unit)
    for model in (Operation, OperationEvent):
        for python, sql in pairs(database, model):
            assert sql == python
    for name in ("heartbeat", "await"):
        late = {**held, "lease": 60} if name == "heartbeat" else {**held, **CH, "window": 0}
        assert in_sql(database, lambda door, name=name, late=late: door.changed(name, **late)) == 0  # type: ignore[misc]


@pytest.mark.parametrize("reason", ["compensation", "action"])
def test_what_people_wait_for_is_not_confirmed_by_plain_sql(database: Database, reason: str) -> None:
    register_in_sql(database, "op-sql")

    def unit(session: Session) -> None:
        row = session.scalars(select(Operation)).one()
        if reason == "compensation":
            row.parent_id = factories.operation(session, type="other").id
        else:
            session.add(an_action(row, state="executed", verify=True))

    transact(database, unit)
    held = in_sql(database, claim_in_sql)
    assert in_sql(database, lambda door: door.changed("confirm", **held, **CH)) == 0
    assert in_sql(database, lambda door: door.changed("await", **held, **CH, window=0)) == 1


def test_a_retry_stops_at_the_last_attempt(database: Database) -> None:
    register_in_sql(database, "op-sql")
    held = in_sql(database, claim_in_sql)
    retry = {"cause": "not_sent", "delay": 0, "max_attempts": 1}
    assert in_sql(database, lambda door: door.changed("retry", **held, **retry)) == 0
    assert in_sql(database, lambda door: door.changed("review", **held, cause="not_sent")) == 1


def test_both_engines_have_every_statement(engine_name: str) -> None:
    assert set(statements(engine_name)) == set(statements("postgresql"))
