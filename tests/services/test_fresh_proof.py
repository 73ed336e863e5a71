"""Fresh proof: nothing is sent again unless the destination was just asked and had nothing, or two people say so."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from dashboard.db import Database, transact
from dashboard.domain.actions import ActionName
from dashboard.domain.approval import Vote
from dashboard.domain.errors import OperationsError
from dashboard.domain.permissions import Actor, Role
from dashboard.domain.policy import Approvals, Policies, TypePolicy
from dashboard.services import approvals
from dashboard.services.actions import ActionForm, ActionRequest, Performed, perform
from tests import factories
from tests.services.people import person

POLICIES = Policies(hash="a" * 64)


def ago(**time: float) -> datetime:
    return datetime.now(UTC) - timedelta(**time)


def requeue(
    database: Database,
    who: Actor,
    reason: str,
    *,
    policies: Policies = POLICIES,
    sent: datetime | None = None,
    **row: Any,
) -> Performed:
    def unit(session: Any) -> str:
        added = factories.operation(session, **row)
        if sent:
            factories.event(session, added, kind="attempt", at=sent)
        return added.operation_id

    form = ActionForm(f"form-{reason}", 1, reason, factories.NOTE)
    request = ActionRequest(who, transact(database, unit), ActionName.REQUEUE, policies)
    return perform(database, request, form)


def code(database: Database, who: Actor, reason: str, **row: Any) -> str:
    try:
        return requeue(database, who, reason, **row).state
    except OperationsError as refusal:
        problems = getattr(refusal, "problems", ())
        return problems[0].code if problems else refusal.code


UNPROVEN: list[dict[str, Any]] = [
    {},
    {"verdict": "absent", "verdict_at": ago(minutes=11)},
    {"verdict": "absent", "verdict_at": datetime.now(UTC) + timedelta(hours=1)},
    {"verdict": "absent", "verdict_at": ago(minutes=5), "sent": ago(minutes=2)},
    {"verdict": "ambiguous", "verdict_at": ago(seconds=5)},
    {"verdict": "divergent", "verdict_at": ago(seconds=5)},
    {"verdict": "perhaps", "verdict_at": ago(seconds=5)},
]


@pytest.mark.parametrize("row", UNPROVEN)
def test_without_fresh_proof_nothing_is_sent_again_but_by_override(
    sqlite_database: Database, row: dict[str, Any]
) -> None:
    manager = factories.actor(Role.MANAGER)
    assert code(sqlite_database, manager, "effect_absent", **row) == "proof_missing"
    assert code(sqlite_database, manager, "override", **row) == "proposed"


def test_fresh_proof_needs_no_override(database: Database) -> None:
    operator = factories.actor(Role.OPERATOR)
    proven = factories.proven_absent()
    assert code(database, operator, "effect_absent", sent=ago(minutes=9), **proven) == "executed"
    assert code(database, operator, "override", **proven) == "override_needless"


@pytest.mark.parametrize("age", [timedelta(seconds=5), timedelta(days=9)])
def test_what_exists_is_confirmed_and_never_sent_again(sqlite_database: Database, age: timedelta) -> None:
    row = {"verdict": "correct", "verdict_at": datetime.now(UTC) - age}
    for reason in ("effect_absent", "override"):
        assert code(sqlite_database, factories.actor(Role.MANAGER), reason, **row) == "effect_exists"


def test_an_override_needs_a_manager_whatever_policy_says(database: Database) -> None:
    lax = Policies(hash="a" * 64, types={"charge_order": TypePolicy(approvals=Approvals({"requeue": 0}))})
    proposed = requeue(database, person(database, Role.MANAGER), "override", policies=lax)
    wishes: dict[str, Any] = {
        "action_id": proposed.action_id,
        "decision": Vote.APPROVE,
        "note": None,
        "idempotency_key": "vote-1",
        "policies": lax,
    }
    with pytest.raises(OperationsError, match="override"):
        approvals.decide(database, actor=person(database, Role.OPERATOR), **wishes)
    second = person(database, Role.MANAGER, name="second@example.com")
    assert approvals.decide(database, actor=second, **wishes).state == "executed"


def test_proof_that_grew_old_while_somebody_waited_for_approval_refuses_it(sqlite_database: Database) -> None:
    asked = Approvals({"requeue": 1})
    patient = Policies(hash="a" * 64, types={"charge_order": TypePolicy(approvals=asked, freshness=timedelta(hours=1))})
    hurried = Policies(
        hash="a" * 64, types={"charge_order": TypePolicy(approvals=asked, freshness=timedelta(seconds=1))}
    )
    proposed = requeue(
        sqlite_database,
        person(sqlite_database, Role.SUPPORT),
        "effect_absent",
        policies=patient,
        **factories.proven_absent(),
    )
    operator = person(sqlite_database, Role.OPERATOR)
    wishes: dict[str, Any] = {"action_id": proposed.action_id, "decision": Vote.APPROVE, "note": None}
    with pytest.raises(OperationsError, match="proof_missing"):
        approvals.decide(sqlite_database, actor=operator, idempotency_key="v", policies=hurried, **wishes)
    done = approvals.decide(sqlite_database, actor=operator, idempotency_key="v", policies=patient, **wishes)
    assert done.state == "executed"
