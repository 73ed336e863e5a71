"""Running a plan: every row once, changed ones skipped and named, stopped and gone on with, sums that add up."""

from uuid import uuid4

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import event, select, update

from dashboard.db import Database, reading, transact
from dashboard.domain.actions import ActionName
from dashboard.domain.permissions import Role
from dashboard.models import Action, BulkPlan, Operation, OperationEvent
from dashboard.services import bulk_runs
from dashboard.services.actions import ActionForm, ActionRequest, perform
from tests import factories
from tests.services import planning
from tests.services.people import dismiss, person
from tests.services.planning import add, asking, code, facts, make, outcomes, rows, run, started, state_of, step


def test_each_row_is_done_as_a_single_action_is(database: Database) -> None:
    operator = person(database, Role.OPERATOR)
    plan = started(database, operator, add(database, 3))
    run(database)
    assert facts(database, plan)[:3] == (3, 3, 3)
    assert (state_of(database, plan)[0], outcomes(database, plan)) == ("done", {"done": 3})
    with reading(database) as session:
        told = session.scalars(select(OperationEvent.evidence).where(OperationEvent.to_state == "not_applicable")).all()
    assert [evidence["plan_id"] for evidence in told if evidence] == [plan] * 3


def test_rows_changed_since_the_review_are_skipped_and_named(database: Database) -> None:
    operator, other = person(database, Role.OPERATOR), person(database, Role.OPERATOR, name="other@example.com")
    ids = add(database, 3)
    plan = started(database, operator, ids)
    form = ActionForm("form-1", 1, "duplicate", factories.NOTE)
    perform(database, ActionRequest(other, ids[1], ActionName.CLOSE, planning.FREE), form)
    run(database)
    assert rows(database, plan) == [
        ("done", None, None),
        ("skipped", "changed_meanwhile", other.id),
        ("done", None, None),
    ]


def test_what_cannot_be_done_any_more_fails_with_its_code_and_is_audited(database: Database) -> None:
    operator = person(database, Role.OPERATOR)
    ids = add(database, 2, **factories.proven_absent())
    plan = make(database, operator, ids, action="requeue").plan_id
    step(database, operator, plan, "start", reason_code="effect_absent")
    old = update(Operation).where(Operation.operation_id == ids[0]).values(verdict_at=factories.NOW.replace(year=2020))
    transact(database, lambda session: session.execute(old))
    run(database)
    assert [row[:2] for row in rows(database, plan)] == [("failed", "proof_missing"), ("done", None)]
    assert planning.entries(database).count(("requeue", operator.id, "refused")) == 1


def test_grants_count_as_they_are_when_a_row_is_done(database: Database) -> None:
    support, operator = person(database, Role.SUPPORT), person(database, Role.OPERATOR)
    plan = make(database, support, add(database, 2)).plan_id
    step(database, support, plan, "start")
    step(database, operator, plan, "approve")
    dismiss(database, operator)
    run(database)
    assert [row[:2] for row in rows(database, plan)] == [("failed", "approvals_missing")] * 2
    dismissed = person(database, Role.OPERATOR, name="gone@example.com")
    second = started(database, dismissed, add(database, 1))
    dismiss(database, dismissed)
    run(database)
    assert [row[:2] for row in rows(database, second)] == [("failed", "not_allowed")]


def test_the_first_rows_go_and_the_rest_wait_for_a_person(database: Database) -> None:
    operator = person(database, Role.OPERATOR)
    plan = started(database, operator, add(database, 4), canary="2")
    run(database)
    assert (state_of(database, plan), outcomes(database, plan)) == (("paused", "canary"), {"done": 2, "left": 2})
    assert code(database, operator, plan, "resume") == "running"
    run(database)
    assert (state_of(database, plan)[0], outcomes(database, plan)) == ("done", {"done": 4})


def test_a_stopped_plan_does_nothing_until_it_goes_on(database: Database) -> None:
    operator = person(database, Role.OPERATOR)
    plan = started(database, operator, add(database, 2))
    assert code(database, operator, plan, "stop") == "stopped"
    assert (run(database), outcomes(database, plan)) == (0, {"left": 2})
    step(database, operator, plan, "resume")
    run(database)
    assert (outcomes(database, plan), facts(database, plan)[:3]) == ({"done": 2}, (2, 2, 2))
    support = person(database, Role.SUPPORT)
    assert code(database, support, plan, "stop") == "not_allowed"


def test_one_note_is_the_evidence_of_two_hundred_rows(sqlite_database: Database) -> None:
    operator = person(sqlite_database, Role.OPERATOR)
    plan = started(sqlite_database, operator, planning.add_many(sqlite_database, 200))
    assert run(sqlite_database) == 4
    assert (outcomes(sqlite_database, plan), facts(sqlite_database, plan)[:3]) == ({"done": 200}, (200, 200, 200))
    with reading(sqlite_database) as session:
        assert set(session.scalars(select(Action.note))) == {factories.NOTE}


def test_a_rate_makes_the_next_rows_wait(database: Database) -> None:
    operator = person(database, Role.OPERATOR)
    plan = started(database, operator, add(database, 5), rate="12")
    assert (run(database), outcomes(database, plan)) == (1, {"done": 1, "left": 4})
    with reading(database) as session:
        found = session.get_one(BulkPlan, plan)
        assert found.next_at
        assert found.started_at
        assert 5 <= (found.next_at - found.started_at).total_seconds() < 20


def test_a_compensation_of_a_plan_has_its_own_key_and_is_made_once(database: Database) -> None:
    policies = asking()
    operator = person(database, Role.OPERATOR)
    ids = add(database, 2)
    plan = make(database, operator, ids, action="compensate", policies=policies).plan_id
    step(database, operator, plan, "start", policies=policies, reason_code="charged_twice")
    run(database, policies=policies)
    with reading(database) as session:
        keys = session.scalars(select(Operation.idempotency_key).where(Operation.parent_id.is_not(None))).all()
    assert set(keys) == {f"compensate:{each}:1" for each in ids}


@pytest.mark.parametrize("statement", range(0, 50, 7))
def test_a_crash_at_any_statement_leaves_each_row_done_once(sqlite_database: Database, statement: int) -> None:
    operator = person(sqlite_database, Role.OPERATOR)
    plan = started(sqlite_database, operator, add(sqlite_database, 3))
    seen = iter(range(10_000))

    def crash(*_: object) -> None:
        if next(seen) == statement:
            raise SystemExit

    event.listen(sqlite_database.engine, "before_cursor_execute", crash)
    with pytest.raises(SystemExit):
        bulk_runs.run_portion(sqlite_database, plan, policies=planning.FREE)
    event.remove(sqlite_database.engine, "before_cursor_execute", crash)
    assert outcomes(sqlite_database, plan) == {"left": 3}
    run(sqlite_database)
    assert (outcomes(sqlite_database, plan), facts(sqlite_database, plan)[:3]) == ({"done": 3}, (3, 3, 3))


def test_a_fault_of_ours_stops_the_plan_for_a_person(sqlite_database: Database) -> None:
    operator = person(sqlite_database, Role.OPERATOR)
    plan = started(sqlite_database, operator, add(sqlite_database, 2))
    transact(sqlite_database, lambda session: session.execute(update(BulkPlan).values(action="unknown")))
    bulk_runs.run_due(sqlite_database, policies=planning.FREE)
    assert (state_of(sqlite_database, plan), outcomes(sqlite_database, plan)) == (("stopped", "broken"), {"left": 2})


def test_a_portion_takes_as_many_statements_for_each_row(sqlite_database: Database) -> None:
    operator = person(sqlite_database, Role.OPERATOR)
    counted = []
    for number, size in enumerate((5, 10, 20)):
        ids = add(sqlite_database, size)
        plan = make(sqlite_database, operator, ids, key=f"plan-{number}").plan_id
        step(sqlite_database, operator, plan, "start")
        seen: list[str] = []
        event.listen(sqlite_database.engine, "before_cursor_execute", lambda *given, into=seen: into.append(given[2]))
        bulk_runs.run_portion(sqlite_database, plan, policies=planning.FREE)
        counted.append(len(seen))
    assert (counted[2] - counted[1]) == 2 * (counted[1] - counted[0]) <= 5 * 20 * 2


STEPS = st.lists(st.sampled_from(["run", "stop", "resume", "change", "claim"]), max_size=12)
CHANGED = {"revision": Operation.revision + 1}
CLAIMED = {"assigned_to": "ana@example.com", "assigned_until": factories.NOW.replace(year=2999)}


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=STEPS)
def test_whatever_happens_the_sums_add_up(sqlite_database: Database, steps: list[str]) -> None:
    operator = person(sqlite_database, Role.OPERATOR, name=f"{uuid4().hex}@example.com")
    ids = add(sqlite_database, 4)
    plan = started(sqlite_database, operator, ids, canary="1")
    for number, what in enumerate(steps):
        if what in {"stop", "resume"}:
            code(sqlite_database, operator, plan, what, key=f"step-{number}")
        elif what == "run":
            bulk_runs.run_portion(sqlite_database, plan, policies=planning.FREE)
        else:
            which = update(Operation).where(Operation.operation_id == ids[number % 4])
            change = which.values(CHANGED if what == "change" else CLAIMED)
            with sqlite_database.engine.begin() as connection:
                connection.execute(change)
        assert sum(outcomes(sqlite_database, plan).values()) == 4
