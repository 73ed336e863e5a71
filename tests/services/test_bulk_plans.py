"""Plans: what is frozen, who must agree to all of it, and which forms are refused."""

from dataclasses import replace
from decimal import Decimal

import pytest
from sqlalchemy import select, update

from dashboard.db import Database, reading, transact
from dashboard.domain.errors import InvalidInputError, NotFoundError
from dashboard.domain.permissions import Role
from dashboard.domain.policy import Approvals, Policies, TypePolicy
from dashboard.models import Action, BulkGroup, BulkPlan, BulkRow, Operation
from dashboard.queries.operations import OperationFilter
from tests import factories
from tests.services import planning
from tests.services.people import dismiss, person
from tests.services.planning import add, asking, code, entries, make, outcomes, run, state_of, step


def test_a_plan_freezes_what_can_be_done_and_says_why_the_rest_cannot(database: Database) -> None:
    operator = person(database, Role.OPERATOR)
    good, ended = add(database, 2), add(database, 1, state="confirmed")
    claimed = add(database, 1, assigned_to="ana@example.com", assigned_until=factories.NOW.replace(year=2999))
    plan = make(database, operator, [*good, *ended, *claimed, "no-such-operation"])
    assert (plan.total, plan.unknown, outcomes(database, plan.plan_id)) == (4, 1, {"left": 2, "ineligible": 2})
    with reading(database) as session:
        found = session.scalars(select(BulkGroup)).all()
        frozen = session.scalars(select(BulkRow.revision)).all()
    assert {(group.refusal, group.size, group.amount, group.currency) for group in found} == {
        (None, 2, "637.86", "EUR"),
        ("transition_not_allowed", 1, "318.93", "EUR"),
        ("claimed", 1, "318.93", "EUR"),
    }
    assert (set(frozen), entries(database)) == ({1}, [("bulk_plan", operator.id, "done")])


def test_sending_again_without_proof_is_no_part_of_a_plan(database: Database) -> None:
    operator = person(database, Role.OPERATOR)
    ids = [*add(database, 1, **factories.proven_absent()), *add(database, 1), *add(database, 1, verdict="correct")]
    plan = make(database, operator, ids, action="requeue").plan_id
    assert [row[:2] for row in planning.rows(database, plan)] == [
        ("left", None),
        ("ineligible", "proof_missing"),
        ("ineligible", "effect_exists"),
    ]
    assert code(database, operator, plan, "start", reason_code="override") == "reason_code:reason_unknown"


def test_what_stands_in_the_way_of_one_is_what_stands_in_the_way_of_many(database: Database) -> None:
    operator, policies = person(database, Role.OPERATOR), asking()
    parent, other = add(database, 2)
    with reading(database) as session:
        number = session.scalar(select(Operation.id).where(Operation.operation_id == parent))
    add(database, 1, type="refund_order", parent_id=number, state="processing")
    plan = make(database, operator, [parent, other], action="compensate", policies=policies).plan_id
    assert [row[:2] for row in planning.rows(database, plan)] == [("ineligible", "compensation_exists"), ("left", None)]


def test_a_plan_has_one_to_ten_thousand_rows(sqlite_database: Database) -> None:
    operator = person(sqlite_database, Role.OPERATOR)
    first = planning.add_many(sqlite_database, 10_001)[0]
    everything = OperationFilter(exceptions=True)
    for chosen, problem in (({"ids": []}, "plan_empty"), ({"ids": [], "filters": everything}, "plan_too_large")):
        with pytest.raises(InvalidInputError) as refused:
            make(sqlite_database, operator, **chosen)
        assert [each.code for each in refused.value.problems] == [problem]
    assert make(sqlite_database, operator, [first]).total == 1


def test_the_same_form_makes_one_plan(database: Database) -> None:
    operator = person(database, Role.OPERATOR)
    ids = add(database, 2)
    first = make(database, operator, ids)
    again = make(database, operator, ids)
    assert (again.plan_id, again.repeated) == (first.plan_id, True)


def test_a_filter_takes_all_that_match_within_the_grants(database: Database) -> None:
    here = person(database, Role.OPERATOR, tenant="tienda-es")
    add(database, 2)
    add(database, 1, tenant="elsewhere")
    add(database, 1, state="confirmed")
    assert make(database, here, [], filters=OperationFilter(exceptions=True)).total == 2


def test_a_plan_beyond_the_grants_does_not_exist(database: Database) -> None:
    plan = make(database, person(database, Role.OPERATOR), [*add(database, 1), *add(database, 1, tenant="elsewhere")])
    here = person(database, Role.MANAGER, tenant="tienda-es")
    with pytest.raises(NotFoundError):
        step(database, here, plan.plan_id, "stop")


@pytest.mark.parametrize(
    ("form", "problems"),
    [
        ({"note": "too short"}, "note:note_too_short"),
        ({"note": None, "reason_code": None}, "reason_code:reason_missing note:note_missing"),
        ({"canary": "0", "rate": "fast"}, "canary:number_invalid rate:number_invalid"),
        ({"note": "", "canary": "-1"}, "note:note_missing canary:number_invalid"),
        ({"key": ""}, "idempotency_key:key_invalid"),
    ],
)
def test_a_plan_needs_evidence_like_a_single_action(
    sqlite_database: Database, form: dict[str, str], problems: str
) -> None:
    operator = person(sqlite_database, Role.OPERATOR)
    plan = make(sqlite_database, operator, add(sqlite_database, 1)).plan_id
    assert code(sqlite_database, operator, plan, "start", **form) == problems
    assert (entries(sqlite_database)[-1], run(sqlite_database)) == (("bulk_start", operator.id, "refused"), 0)


def test_nobody_approves_their_own_plan_and_that_is_audited(database: Database) -> None:
    """Fault 26, through bulk."""
    policies = asking(close=1)
    operator = person(database, Role.OPERATOR)
    plan = make(database, operator, add(database, 2), policies=policies).plan_id
    assert code(database, operator, plan, "start", policies=policies) == "waiting"
    assert code(database, operator, plan, "approve", policies=policies, key="vote-1") == "own_approval"
    assert (run(database, policies=policies), outcomes(database, plan)) == (0, {"left": 2})
    assert entries(database)[-1] == ("approve", operator.id, "refused")


def test_what_support_proposes_runs_once_an_operator_has_approved_it(database: Database) -> None:
    support, operator = person(database, Role.SUPPORT), person(database, Role.OPERATOR)
    plan = make(database, support, add(database, 2)).plan_id
    assert (code(database, support, plan, "start"), run(database)) == ("waiting", 0)
    assert code(database, operator, plan, "approve", key="vote-1") == "running"
    assert step(database, operator, plan, "approve", key="vote-1").repeated
    run(database)
    assert (state_of(database, plan)[0], outcomes(database, plan)) == ("done", {"done": 2})
    with reading(database) as session:
        stored = session.execute(select(Action.requested_by, Action.needed)).all()
    assert [tuple(row) for row in stored] == [(support.id, 1)] * 2
    decided = [entry for entry in entries(database) if entry[0] in {"bulk_start", "approve", "close", "bulk_done"}]
    assert decided == [
        ("bulk_start", support.id, "done"),
        ("approve", operator.id, "done"),
        ("close", support.id, "done"),
        ("close", support.id, "done"),
        ("bulk_done", "plans", "done"),
    ]


def test_many_small_amounts_need_the_manager_that_their_sum_needs(database: Database) -> None:
    rule = TypePolicy(approvals=Approvals(manager_above={"EUR": Decimal(400)}))
    policies = Policies(hash="b" * 64, types={"charge_order": rule})
    operator, other = person(database, Role.OPERATOR), person(database, Role.OPERATOR, name="other@example.com")
    manager = person(database, Role.MANAGER)
    plan = make(database, operator, add(database, 2), policies=policies).plan_id
    assert code(database, operator, plan, "start", policies=policies) == "waiting"
    assert code(database, other, plan, "approve", policies=policies) == "not_allowed"
    assert code(database, manager, plan, "approve", policies=policies) == "running"


def test_a_changed_policy_or_row_voids_what_waits(database: Database) -> None:
    support, operator = person(database, Role.SUPPORT), person(database, Role.OPERATOR)
    plan = make(database, support, add(database, 2)).plan_id
    step(database, support, plan, "start")
    transact(database, lambda session: session.execute(update(BulkRow).values(revision=7)))
    assert code(database, operator, plan, "approve") == "approval_void"
    assert state_of(database, plan) == ("void", "evidence_changed")
    second = make(database, support, add(database, 1), key="plan-2").plan_id
    step(database, support, second, "start")
    assert (
        code(database, operator, second, "approve", policies=replace(planning.FREE, hash="c" * 64)) == "approval_void"
    )
    assert (state_of(database, second), run(database)) == (("void", "policy_changed"), 0)


def test_a_plan_nobody_decides_about_expires(database: Database) -> None:
    support, operator = person(database, Role.SUPPORT), person(database, Role.OPERATOR)
    plan = make(database, support, add(database, 1)).plan_id
    step(database, support, plan, "start")
    transact(database, lambda session: session.execute(update(BulkPlan).values(expires_at=factories.NOW)))
    assert code(database, operator, plan, "approve") == "approval_expired"
    assert (state_of(database, plan)[0], outcomes(database, plan)) == ("expired", {"left": 1})


def test_whoever_lost_their_grants_cannot_approve_any_more(database: Database) -> None:
    support, operator = person(database, Role.SUPPORT), person(database, Role.OPERATOR)
    plan = make(database, support, add(database, 1)).plan_id
    step(database, support, plan, "start")
    dismiss(database, operator)
    assert code(database, operator, plan, "approve") == "not_allowed"


def test_a_plan_is_rejected_with_a_reason_or_withdrawn_by_whoever_made_it(database: Database) -> None:
    support, operator = person(database, Role.SUPPORT), person(database, Role.OPERATOR)
    plan = make(database, support, add(database, 1)).plan_id
    assert code(database, operator, plan, "start") == "not_planner"
    step(database, support, plan, "start")
    assert code(database, operator, plan, "withdraw") == "not_proposer"
    assert code(database, operator, plan, "reject", note="no") == "note:note_too_short"
    assert code(database, operator, plan, "reject", note=factories.NOTE) == "rejected"
    assert code(database, support, plan, "withdraw") == "not_waiting"
    second = make(database, support, add(database, 1), key="plan-2").plan_id
    assert (code(database, support, second, "withdraw"), run(database)) == ("withdrawn", 0)
