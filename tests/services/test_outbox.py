"""The outbox: a message exists exactly if the change it announces does, and bad ones are refused by field."""

import json
import math
import threading
from typing import Any

import pytest
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from dashboard.db import Database, reading, transact
from dashboard.domain.errors import InvalidInputError, LostRaceError, NotFoundError, OperationsError
from dashboard.domain.messages import Decision
from dashboard.domain.permissions import Role
from dashboard.models import AuditEntry, OutboxDecision, OutboxMessage
from dashboard.services import audit, outbox
from dashboard.services.outbox import DecisionForm
from tests import factories

OPERATOR = factories.actor(Role.OPERATOR)
MESSAGE: dict[str, Any] = {
    "tenant": "tienda-es",
    "type": "charge_order",
    "sink": "hook",
    "topic": "order.charged",
    "aggregate_key": "order-452",
    "payload": {"amount": "318.93", "name": "Ñandú \0 😀"},
    "now": factories.NOW,
}


def count(database: Database) -> int:
    with reading(database) as session:
        return session.scalar(select(func.count()).select_from(OutboxMessage)) or 0


def add_letter(database: Database, **values: Any) -> str:
    return transact(database, lambda session: factories.message(session, state="dead", claims=3, **values).message_id)


def decide(database: Database, message_id: str, decision: Decision, key: str = "form-1", **form: Any) -> str:
    """The code of the refusal, or `done`, or `repeated`."""
    try:
        done = outbox.decide(
            database,
            actor=OPERATOR,
            message_id=message_id,
            decision=decision,
            form=DecisionForm(key, form.get("note", factories.NOTE), form.get("reference")),
        )
    except OperationsError as error:
        return error.code
    return "done" if done else "repeated"


def test_a_message_is_stored_with_the_change_it_announces(database: Database) -> None:
    message_id = transact(database, lambda session: outbox.enqueue(session, **MESSAGE))
    with reading(database) as session:
        row = session.scalars(select(OutboxMessage)).one()
    assert (row.message_id, row.state, row.claims) == (message_id, "pending", 0)
    assert json.loads(row.payload) == MESSAGE["payload"]


def test_a_message_of_a_change_that_is_rolled_back_never_was(database: Database) -> None:
    def unit(session: Session) -> None:
        outbox.enqueue(session, **MESSAGE)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        transact(database, unit)
    assert count(database) == 0


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"sink": ""}, "text_missing"),
        ({"topic": "x" * 129}, "name_too_long"),
        ({"aggregate_key": "a\0b"}, "text_invalid"),
        ({"payload": {"n": math.nan}}, "payload_invalid"),
        ({"payload": {"n": {1, 2}}}, "payload_invalid"),
        ({"payload": {"n": "\ud800"}}, "payload_invalid"),
        ({"payload": {"n": "x" * 1_000_001}}, "payload_too_long"),
    ],
)
def test_a_bad_field_is_named(sqlite_database: Database, change: dict[str, Any], code: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        transact(sqlite_database, lambda session: outbox.enqueue(session, **{**MESSAGE, **change}))
    assert [(problem.field, problem.code) for problem in caught.value.problems] == [(next(iter(change)), code)]


def test_the_same_form_at_the_same_time_decides_once(database: Database) -> None:
    message_id = add_letter(database)
    outcomes: list[str] = []
    threads = [
        threading.Thread(target=lambda: outcomes.append(decide(database, message_id, Decision.REDRIVE)))
        for _ in range(6)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(outcomes) == ["done"] + ["repeated"] * 5
    with reading(database) as session:
        assert audit.verify(session).checked == 1
        assert session.scalar(select(func.count()).select_from(OutboxDecision)) == 1


def test_a_redriven_letter_counts_its_claims_from_none(database: Database) -> None:
    message_id = add_letter(database)
    assert decide(database, message_id, Decision.REDRIVE) == "done"
    with reading(database) as session:
        row = session.scalars(select(OutboxMessage)).one()
    assert (row.state, row.claims) == ("pending", 0)


def test_every_refusal_is_audited_and_changes_nothing(database: Database) -> None:
    message_id = add_letter(database)
    assert decide(database, message_id, Decision.DISCARD, note="too short") == "invalid_input"
    assert decide(database, "msg_unknown", Decision.DISCARD) == "not_found"
    assert decide(database, message_id, Decision.DISCARD, key="") == "invalid_input"
    assert decide(database, message_id, Decision.DISCARD) == "done"
    assert decide(database, message_id, Decision.REDRIVE) == "invalid_input"
    assert decide(database, message_id, Decision.REDRIVE, key="form-2") == "letter_not_dead"
    with reading(database) as session:
        outcomes = list(session.scalars(select(AuditEntry.outcome).order_by(AuditEntry.seq)))
        assert audit.verify(session).intact
    assert outcomes == ["refused", "refused", "refused", "done", "refused", "refused"]


def test_the_refusals_have_the_kinds_that_edges_answer(sqlite_database: Database) -> None:
    form = DecisionForm("form-1", factories.NOTE)
    for message_id, kind in (("msg_unknown", NotFoundError), (add_pending(sqlite_database), LostRaceError)):
        with pytest.raises(kind):
            outbox.decide(sqlite_database, actor=OPERATOR, message_id=message_id, decision=Decision.REDRIVE, form=form)


def add_pending(database: Database) -> str:
    return transact(database, lambda session: factories.message(session).message_id)
