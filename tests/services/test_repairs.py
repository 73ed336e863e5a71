"""What the choke point keeps safe beside the forms: compensations under way, secrets, and words nobody knows."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from dashboard.db import Database, reading, transact
from dashboard.domain.actions import ActionName
from dashboard.domain.errors import OperationsError
from dashboard.domain.permissions import Role
from dashboard.models import Action, AuditEntry, Operation, OperationEvent
from dashboard.services.actions import ActionForm, ActionRequest, Performed, perform, preview
from dashboard.services.notes import add_note
from dashboard.services.policies import Policies, load_policies
from tests import factories

MANAGER = factories.actor(Role.MANAGER)
REASONS = {
    "requeue": "effect_absent",
    "close": "written_off",
    "confirm": "seen_at_destination",
    "reopen": "closed_by_mistake",
}
POLICIES = """
[defaults]
redact = ["expected.email"]
[types.charge_order]
compensation = "refund_order"
[types.refund_order]
destination = "bank"
[destinations.bank]
"""


@pytest.fixture
def policies(tmp_path: Path) -> Policies:
    path = tmp_path / "policies.toml"
    path.write_text(POLICIES)
    return load_policies(path)


def add(database: Database, **values: Any) -> str:
    given = {**factories.proven_absent(), **values}
    return transact(database, lambda session: factories.operation(session, **given).operation_id)


def ask(database: Database, operation_id: str, action: str, policies: Policies, **form: Any) -> Performed:
    number = len(rows(database, Action)) + 1
    reason = REASONS.get(action, "charged_twice")
    sent = replace(ActionForm(f"form-{number}", 1, reason, factories.NOTE), **form)
    return perform(database, ActionRequest(MANAGER, operation_id, ActionName(action), policies), sent)


def proven_absent(session: Any, operation_id: str) -> None:
    row = session.scalars(select(Operation).where(Operation.operation_id == operation_id)).one()
    row.verdict, row.verdict_at = "absent", factories.NOW


def rows(database: Database, table: type[Any]) -> list[Any]:
    with reading(database) as session:
        return list(session.scalars(select(table)))


@pytest.mark.parametrize("action", ["requeue", "close", "confirm"])
def test_nothing_ends_or_repeats_an_effect_that_is_being_undone(
    database: Database, policies: Policies, action: str
) -> None:
    operation_id = add(database, **factories.seen_twice())
    ask(database, operation_id, "compensate", policies)
    with pytest.raises(OperationsError) as caught:
        ask(database, operation_id, action, policies, revision=2)
    assert caught.value.code == "compensation_open"


def test_a_closed_compensation_no_longer_stands_in_the_way(database: Database, policies: Policies) -> None:
    operation_id = add(database, **factories.seen_twice())
    child = ask(database, operation_id, "compensate", policies).child_operation_id
    ask(database, str(child), "close", policies)
    assert ask(database, operation_id, "compensate", policies, revision=2).child_operation_id == (
        f"{operation_id}~compensation-2"
    )


def test_a_closed_compensation_stays_closed_while_another_undoes_the_same(
    database: Database, policies: Policies
) -> None:
    operation_id = add(database, **factories.seen_twice())
    child = str(ask(database, operation_id, "compensate", policies).child_operation_id)
    ask(database, child, "close", policies)
    assert ask(database, child, "reopen", policies, revision=2).repeated is False
    ask(database, child, "close", policies, revision=3)
    ask(database, operation_id, "compensate", policies, revision=2)
    with pytest.raises(OperationsError) as caught:
        ask(database, child, "reopen", policies, revision=4)
    assert (caught.value.code, caught.value.details["operation_id"]) == (
        "compensation_exists",
        f"{operation_id}~compensation-2",
    )


def test_of_two_compensations_in_review_none_is_sent(database: Database, policies: Policies) -> None:
    add(database, operation_id="charge")
    with reading(database) as session:
        parent = session.scalars(select(Operation.id)).one()
    first, second = add(database, parent_id=parent), add(database, parent_id=parent)
    for child in (first, second):
        with pytest.raises(OperationsError) as caught:
            ask(database, child, "requeue", policies)
        assert caught.value.code == "compensation_exists"
    transact(database, lambda session: proven_absent(session, first))
    ask(database, first, "close", policies)
    assert ask(database, second, "requeue", policies).repeated is False


def test_a_compensation_names_the_policy_it_follows(sqlite_database: Database, policies: Policies) -> None:
    ask(sqlite_database, add(sqlite_database, **factories.seen_twice()), "compensate", policies)
    assert {event.policy_hash for event in rows(sqlite_database, OperationEvent)} == {policies.hash}


def test_what_policy_hides_is_in_no_record_of_the_decision(sqlite_database: Database, policies: Policies) -> None:
    operation_id = add(sqlite_database, expected={"email": "ana@shop.example"})
    probe = {"actual": {"email": "eva@shop.example"}}

    def probed(session: Any) -> None:
        row = session.scalars(select(Operation).where(Operation.operation_id == operation_id)).one()
        factories.event(session, row, evidence=probe)

    transact(sqlite_database, probed)
    ask(sqlite_database, operation_id, "requeue", policies, note="password=hunter22 opened the console")
    [action], [entry] = rows(sqlite_database, Action), rows(sqlite_database, AuditEntry)
    event = rows(sqlite_database, OperationEvent)[-1]
    told = f"{action.snapshot} {action.note} {entry.evidence} {entry.reason} {event.evidence} {event.reason}"
    assert [secret for secret in ("ana@", "eva@", "hunter22") if secret in told] == []


def test_a_form_without_its_revision_is_refused_with_all_that_is_wrong(sqlite_database: Database) -> None:
    with pytest.raises(OperationsError) as caught:
        ask(sqlite_database, add(sqlite_database), "requeue", Policies(), revision=None, note="short")
    assert caught.value.details["fields"] == ("revision", "note")


def test_words_of_a_host_that_nobody_knows_are_no_fault(sqlite_database: Database) -> None:
    operation_id = add(sqlite_database, verdict="perhaps", cause="weather")
    with reading(sqlite_database) as session:
        shown = preview(session, ActionRequest(MANAGER, operation_id, ActionName.REQUEUE, Policies()))
    assert shown.risk.level == "high"


def test_a_refused_note_is_audited(database: Database) -> None:
    operation_id = add(database)
    with pytest.raises(OperationsError):
        add_note(database, actor=MANAGER, operation_id=operation_id, idempotency_key="form-1", text=" ")
    [entry] = rows(database, AuditEntry)
    assert (entry.action, entry.outcome, entry.tenant) == ("note", "refused", "tienda-es")


def test_the_same_note_form_adds_it_once(database: Database) -> None:
    told: Mapping[str, Any] = {
        "actor": MANAGER,
        "operation_id": add(database),
        "idempotency_key": "form-1",
        "text": "Called.",
    }
    assert [add_note(database, **told) for _ in range(2)] == [True, False]
    assert len(rows(database, OperationEvent)) == 1
