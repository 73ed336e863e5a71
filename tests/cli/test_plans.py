"""Plans from the command line: made and started by one person, approved by another, and carried out by a worker."""

import pytest
from sqlalchemy import select

from dashboard.db import Database, reading, transact
from dashboard.domain.permissions import Actor, Grant, Role
from dashboard.domain.policy import Policies
from dashboard.domain.states import ActorKind
from dashboard.models import Operation
from dashboard.services import audit, bulk_runs, users
from tests import factories
from tests.cli.conftest import Ended, Run

PASSWORD = "correct horse battery"
EVIDENCE = ("--reason", "duplicate", "--note", factories.NOTE)


@pytest.fixture(autouse=True)
def people(ready: Database) -> None:
    for role in (Role.SUPPORT, Role.OPERATOR):
        system = Actor(ActorKind.SYSTEM, "tests")
        users.add_user(ready, actor=system, email=f"{role}@example.com", password=PASSWORD, grants=(Grant(role),))
    transact(ready, lambda session: [factories.operation(session, operation_id=f"op-{each}") for each in range(3)])


def plan(run: Run, *arguments: str, who: str = "support") -> Ended:
    return run("plan", *arguments, "--as", f"{who}@example.com", "--password-stdin", stdin=PASSWORD + "\n")


def states(database: Database) -> list[str]:
    with reading(database) as session:
        assert audit.verify(session).intact
        return list(session.scalars(select(Operation.state).order_by(Operation.operation_id)))


def test_support_plans_an_operator_approves_and_a_worker_does_it(ready: Database, run: Run) -> None:
    made = plan(run, "make", "close", "--where", "type=charge_order", "--where", "state=manual_review")
    assert (made.status, made.out) == (0, "3 operations. Draft of plan 1\n")
    assert "Nothing is done until it is approved." in plan(run, "start", "1", *EVIDENCE).out
    own = plan(run, "approve", "1")
    assert (own.status, "their own" in own.err) == (2, True)
    assert [plan(run, "approve", "1", who="operator").out for _ in range(2)] == [
        "plan 1: running.\n",
        "plan 1: running. This was decided before; nothing was done twice.\n",
    ]
    while bulk_runs.run_due(ready, policies=Policies()):
        pass
    shown = plan(run, "show", "1").out.splitlines()
    assert shown[:2] == ["plan 1: close, done, 3 of 3 through", "done\t3"]
    assert states(ready) == ["not_applicable"] * 3
    assert plan(run, "list").out == "1\tdone\tclose\t3\tsupport@example.com\n"


def test_named_ones_go_in_portions_and_wait_after_the_first(ready: Database, run: Run) -> None:
    made = plan(run, "make", "close", "--operation", "op-1", "--operation", "op-2", who="operator")
    assert made.out.split()[-1] == "1"
    assert plan(run, "start", "1", *EVIDENCE, "--canary", "1", who="operator").out == "plan 1: running.\n"
    while bulk_runs.run_due(ready, policies=Policies()):
        pass
    assert states(ready).count("not_applicable") == 1
    assert plan(run, "resume", "1", who="operator").out == "plan 1: running.\n"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("make", "close"), "Give either --operation or --where."),
        (("make", "close", "--where", "type"), "'type' is not NAME=VALUE"),
        (("make", "close", "--where", "min_age=soon"), "min_age"),
        (("make", "close", "--where", "tpye=charge_order"), "'tpye' is none of"),
        (("make", "close", "--operation", "op-9"), "operation"),
        (("show", "9"), "There is no plan 9"),
        (("start", "9", *EVIDENCE), "There is no plan 9"),
    ],
)
def test_what_cannot_be_is_said_in_one_line(run: Run, arguments: tuple[str, ...], said: str) -> None:
    ended = plan(run, *arguments)
    assert (ended.status, said in ended.err) == (2, True), ended.err
