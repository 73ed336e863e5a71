"""Actions: done once with evidence, refused and audited without, never overwriting somebody else's change."""

import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import func, select

from dashboard.db import Database, reading, transact
from dashboard.domain.actions import ActionName
from dashboard.domain.errors import (
    InvalidInputError,
    LostRaceError,
    NotAllowedError,
    NotFoundError,
    OperationsError,
    TransitionError,
)
from dashboard.domain.permissions import Actor, Role
from dashboard.models import Action, AuditEntry, Operation, OperationEvent
from dashboard.services import audit
from dashboard.services.actions import ActionForm, ActionRequest, perform, preview
from dashboard.services.policies import Policies, load_policies
from tests import factories

OPERATOR = factories.actor(Role.OPERATOR)
FORM = ActionForm("form-1", 1, "effect_absent", factories.NOTE, "ticket 4471")


@pytest.fixture
def policies(tmp_path: Path) -> Policies:
    path = tmp_path / "policies.toml"
    path.write_text(
        '[destinations.bank]\n[types.refund_order]\ndestination = "bank"\n'
        '[types.charge_order]\ncompensation = "refund_order"\n'
    )
    return load_policies(path)


def add(database: Database, **values: object) -> str:
    given = {**factories.proven_absent(), **values}
    return transact(database, lambda session: factories.operation(session, **given).operation_id)


def ask(
    database: Database,
    operation_id: str,
    action: str = "requeue",
    *,
    form: ActionForm = FORM,
    actor: Actor = OPERATOR,
    policies: Policies | None = None,
) -> str:
    """The code of the refusal, or `done`, `proposed` or `repeated`."""
    request = ActionRequest(actor, operation_id, ActionName(action), policies or Policies())
    try:
        done = perform(database, request, form)
        return "repeated" if done.repeated else "done" if done.state == "executed" else done.state
    except OperationsError as error:
        return error.code


def row_of(database: Database, operation_id: str) -> Operation:
    with reading(database) as session:
        return session.scalars(select(Operation).where(Operation.operation_id == operation_id)).one()


def counts(database: Database) -> tuple[int, int, int]:
    """Events, actions and audit entries."""
    with reading(database) as session:
        tables = (OperationEvent, Action, AuditEntry)
        found = [session.scalar(select(func.count()).select_from(table)) for table in tables]
        assert audit.verify(session).intact
    return found[0] or 0, found[1] or 0, found[2] or 0


def outcomes(database: Database) -> list[str | None]:
    with reading(database) as session:
        return list(session.scalars(select(Action.outcome).order_by(Action.id)))


def last_entry(database: Database) -> AuditEntry:
    with reading(database) as session:
        return session.scalars(select(AuditEntry).order_by(AuditEntry.seq.desc()).limit(1)).one()


def test_requeue_schedules_a_retry_with_one_event_and_one_entry(database: Database) -> None:
    operation_id = add(database)
    assert ask(database, operation_id) == "done"
    row = row_of(database, operation_id)
    assert (row.state, row.revision) == ("retry_scheduled", 2)
    assert row.next_attempt_at is not None
    assert counts(database) == (1, 1, 1)


def test_the_same_form_twice_acts_once(database: Database) -> None:
    operation_id = add(database)
    assert [ask(database, operation_id), ask(database, operation_id)] == ["done", "repeated"]
    assert counts(database) == (1, 1, 1)


def test_the_same_form_at_the_same_time_acts_once(database: Database) -> None:
    operation_id = add(database)
    outcomes: list[str] = []
    threads = [threading.Thread(target=lambda: outcomes.append(ask(database, operation_id))) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(outcomes) == ["done"] + ["repeated"] * 5
    assert counts(database) == (1, 1, 1)


@pytest.mark.parametrize(
    "change",
    [
        {"note": None},
        {"note": "fourteen chars"},
        {"note": "short" + " " * 40},
        {"reason_code": None},
        {"reason_code": "because"},
        {"note": "a note with a \0 byte in it"},
        {"note": "a note with half \ud83d a sign"},
        {"reference": "x" * 501},
        {"idempotency_key": ""},
    ],
)
def test_bad_evidence_is_refused_audited_and_changes_nothing(database: Database, change: dict[str, Any]) -> None:
    operation_id = add(database)
    assert ask(database, operation_id, form=replace(FORM, **change)) == "invalid_input"
    assert row_of(database, operation_id).revision == 1
    assert counts(database) == (0, 0, 1)
    assert last_entry(database).outcome == "refused"


def test_a_stale_revision_is_a_lost_race_that_names_who_was_faster(database: Database) -> None:
    operation_id = add(database)
    other = factories.actor(Role.MANAGER)
    assert ask(database, operation_id, actor=other) == "done"
    late = ActionForm("form-2", 1, "cancelled", factories.NOTE)
    with pytest.raises(LostRaceError) as caught:
        perform(database, ActionRequest(OPERATOR, operation_id, ActionName.CLOSE, Policies()), late)
    assert caught.value.details["changed_by"] == other.id
    assert counts(database) == (1, 1, 2)


def test_support_proposes_and_changes_nothing(database: Database) -> None:
    operation_id = add(database)
    assert ask(database, operation_id, actor=factories.actor(Role.SUPPORT)) == "proposed"
    assert (row_of(database, operation_id).state, row_of(database, operation_id).revision) == ("manual_review", 1)
    assert counts(database) == (1, 1, 1)
    assert (last_entry(database).action, last_entry(database).tenant) == ("propose", "tienda-es")


def test_what_lies_outside_the_grants_does_not_exist(database: Database) -> None:
    operation_id = add(database)
    stranger = factories.actor(Role.OPERATOR, tenant="shop-jp")
    assert ask(database, operation_id, actor=stranger) == "not_found"
    entry = last_entry(database)
    assert (entry.subject, entry.tenant, entry.before) == (operation_id, None, None)


@pytest.mark.parametrize("hostile", ["%2e%2e", "no\0where", "\ud800", "x" * 500, "' OR 1=1 --"])
def test_a_hostile_id_is_not_found_and_audited(database: Database, hostile: str) -> None:
    assert ask(database, hostile) == "not_found"
    assert counts(database) == (0, 0, 1)


def test_close_keeps_its_reason_and_only_a_manager_reopens(database: Database) -> None:
    operation_id = add(database)
    assert ask(database, operation_id, "close", form=replace(FORM, reason_code="written_off")) == "done"
    assert (row_of(database, operation_id).state, row_of(database, operation_id).closed_reason) == (
        "not_applicable",
        "written_off",
    )
    again = ActionForm("form-2", 2, "new_evidence", factories.NOTE)
    assert ask(database, operation_id, "reopen", form=again) == "not_allowed"
    assert ask(database, operation_id, "reopen", form=again, actor=factories.actor(Role.MANAGER)) == "done"
    assert row_of(database, operation_id).state == "manual_review"


def test_a_confirmed_operation_cannot_be_requeued(database: Database) -> None:
    operation_id = add(database, state="confirmed")
    with pytest.raises(TransitionError):
        perform(database, ActionRequest(OPERATOR, operation_id, ActionName.REQUEUE, Policies()), FORM)


def test_a_compensation_is_a_child_and_ends_its_parent_once_confirmed(database: Database, policies: Policies) -> None:
    operation_id = add(database, **factories.seen_twice())
    form = replace(FORM, reason_code="charged_twice")
    assert ask(database, operation_id, "compensate", form=form, policies=policies) == "done"
    child = row_of(database, f"{operation_id}~compensation-1")
    assert (child.type, child.destination, child.state, child.amount) == ("refund_order", "bank", "pending", "318.93")
    assert child.idempotency_key == f"compensate:{operation_id}:1"
    assert row_of(database, operation_id).state == "manual_review"

    second = replace(form, idempotency_key="form-2", revision=2)
    assert ask(database, operation_id, "compensate", form=second, policies=policies) == "compensation_exists"

    transact(database, lambda session: setattr(session.get_one(Operation, child.id), "state", "manual_review"))
    confirm = ActionForm("form-3", 1, "seen_at_destination", factories.NOTE)
    assert ask(database, child.operation_id, "confirm", form=confirm) == "done"
    assert row_of(database, operation_id).state == "compensated"
    assert outcomes(database) == ["verified", None]


def test_a_requeue_is_verified_once_its_operation_is_confirmed(database: Database) -> None:
    operation_id = add(database)
    assert ask(database, operation_id) == "done"
    assert outcomes(database) == ["to_verify"]

    escalated = ActionForm("form-2", 2, "needs_decision", factories.NOTE)
    assert ask(database, operation_id, "escalate", form=escalated) == "done"
    assert outcomes(database) == ["to_verify", None]
    seen = ActionForm("form-3", 3, "seen_at_destination", factories.NOTE)
    assert ask(database, operation_id, "confirm", form=seen) == "done"
    assert outcomes(database) == ["verified", None, None]


def test_no_compensation_where_policy_names_none(database: Database) -> None:
    operation_id = add(database, type="sync_customer")
    form = replace(FORM, reason_code="other")
    assert ask(database, operation_id, "compensate", form=form) == "compensation_unknown"


def test_a_key_used_for_another_action_is_refused(database: Database) -> None:
    first, second = add(database), add(database)
    assert [ask(database, first), ask(database, second)] == ["done", "invalid_input"]


def test_preview_changes_nothing_and_knows_the_risk(database: Database) -> None:
    operation_id = add(database, verdict="ambiguous", verdict_at=factories.NOW)
    with reading(database) as session:
        shown = preview(session, ActionRequest(OPERATOR, operation_id, ActionName.REQUEUE, Policies()))
    assert (shown.target, shown.risk.level, shown.refusal) == ("retry_scheduled", "high", None)
    assert (shown.proof, shown.reasons, shown.demand.approvals) == ("unproven", ("override",), 1)
    assert counts(database) == (0, 0, 0)


@pytest.mark.parametrize("error", [NotFoundError, NotAllowedError, InvalidInputError])
def test_every_refusal_is_an_operations_error(error: type[Exception]) -> None:
    assert issubclass(error, OperationsError)
