"""A compensation that was sent and closed may have had its effect: until it is proven absent there is no second one."""

from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import select

from dashboard.db import Database, reading, transact
from dashboard.domain.actions import ActionName
from dashboard.domain.errors import OperationsError
from dashboard.domain.permissions import Role
from dashboard.domain.policy import Policies, TypePolicy
from dashboard.models import AuditEntry, Operation
from dashboard.services.actions import ActionForm, ActionRequest, perform
from tests import factories

MANAGER = factories.actor(Role.MANAGER)
POLICIES = Policies(types={"charge_order": TypePolicy(compensation="refund_order")})
REASONS = {"compensate": "charged_twice", "requeue": "effect_absent", "reopen": "new_evidence"}
SENT = factories.NOW
CLOSED = {"state": "not_applicable", "closed_reason": "written_off", "attempts": 1}


def ask(database: Database, operation_id: str, action: str) -> str:
    """The code of the refusal, or `done`."""
    form = ActionForm(f"{action}-{operation_id}", 1, REASONS[action], factories.NOTE)
    try:
        perform(database, ActionRequest(MANAGER, operation_id, ActionName(action), POLICIES), form)
    except OperationsError as refusal:
        return refusal.code
    return "done"


def charge(database: Database, *compensations: dict[str, Any]) -> None:
    """A charge in review with its compensations `refund-1`, `refund-2`, ..., each of them sent at SENT."""

    def add(session: Any) -> None:
        parent = factories.operation(session, operation_id="charge").id
        for number, values in enumerate(compensations, 1):
            row = factories.operation(
                session, operation_id=f"refund-{number}", type="refund_order", parent_id=parent, **values
            )
            factories.event(session, row, kind="attempt", at=SENT)

    transact(database, add)


@pytest.mark.parametrize("verdict", [None, "ambiguous", "divergent", "not_applicable", "correct"])
def test_a_second_compensation_is_refused_while_the_first_is_unproven(database: Database, verdict: str | None) -> None:
    charge(database, {**CLOSED, "verdict": verdict, "verdict_at": SENT if verdict else None})
    assert ask(database, "charge", "compensate") == "compensation_unproven"
    with reading(database) as session:
        [entry] = session.scalars(select(AuditEntry))
        assert session.scalar(select(Operation.id).where(Operation.operation_id.contains("~"))) is None
    assert (entry.action, entry.subject, entry.outcome) == ("compensate", "charge", "refused")
    assert "refund-1" in (entry.evidence or "")


@pytest.mark.parametrize("proof", [{"attempts": 0}, {"verdict": "absent", "verdict_at": SENT + timedelta(hours=1)}])
def test_what_never_had_an_effect_is_in_nobodys_way(database: Database, proof: dict[str, Any]) -> None:
    charge(database, CLOSED | proof)
    assert ask(database, "charge", "compensate") == "done"


def test_a_proof_from_before_the_last_sending_proves_nothing(sqlite_database: Database) -> None:
    charge(sqlite_database, {**CLOSED, "verdict": "absent", "verdict_at": SENT - timedelta(hours=1)})
    assert ask(sqlite_database, "charge", "compensate") == "compensation_unproven"


def test_a_compensation_under_way_is_named_before_an_unproven_one(sqlite_database: Database) -> None:
    charge(sqlite_database, CLOSED, {"state": "awaiting_confirmation"})
    assert ask(sqlite_database, "charge", "compensate") == "compensation_exists"


def test_an_unproven_compensation_can_be_reopened_but_keeps_others_from_being_sent(sqlite_database: Database) -> None:
    charge(sqlite_database, CLOSED, {"state": "manual_review"})
    assert ask(sqlite_database, "refund-2", "requeue") == "compensation_unproven"
    transact(sqlite_database, lambda session: session.get_one(Operation, 3).__setattr__("state", "not_applicable"))
    assert ask(sqlite_database, "refund-1", "reopen") == "done"
