"""Deciding from the command line: as a person who proves who they are, and never about one's own proposal."""

import pytest
from sqlalchemy import select

from dashboard.db import Database, reading, transact
from dashboard.domain.actions import ActionName
from dashboard.domain.permissions import Actor, Grant, Role
from dashboard.domain.policy import Policies
from dashboard.domain.states import ActorKind
from dashboard.models import AuditEntry, Operation
from dashboard.services import users
from dashboard.services.actions import ActionForm, ActionRequest, perform
from dashboard.services.audit import verify
from tests import factories
from tests.cli.conftest import Ended, Run

PASSWORD = "correct horse battery"


@pytest.fixture
def proposed(ready: Database) -> int:
    """A closing that support has proposed; an operator could approve it."""
    for role in (Role.SUPPORT, Role.OPERATOR):
        actor = factories.actor(role)
        system = Actor(ActorKind.SYSTEM, "tests")
        users.add_user(ready, actor=system, email=actor.id, password=PASSWORD, grants=(Grant(role),))
    operation_id = transact(ready, lambda session: factories.operation(session, operation_id="op-1").operation_id)
    form = ActionForm("form-1", 1, "cancelled", factories.NOTE)
    request = ActionRequest(factories.actor(Role.SUPPORT), operation_id, ActionName.CLOSE, Policies())
    return perform(ready, request, form).action_id


def decide(run: Run, *arguments: str | int, who: str = "operator", password: str = PASSWORD) -> Ended:
    told = [str(argument) for argument in arguments]
    return run("action", *told, "--as", f"{who}@example.com", "--password-stdin", stdin=password + "\n")


def state(database: Database) -> str:
    with reading(database) as session:
        assert verify(session).intact
        return session.scalars(select(Operation.state)).one()


def test_what_waits_is_listed_and_approved_once(ready: Database, run: Run, proposed: int) -> None:
    listed = decide(run, "list")
    assert (listed.status, f"{proposed}\tclose\top-1\tsupport@example.com" in listed.out) == (0, True)
    assert "1 waiting, 1 of them for you." in listed.out
    done = [decide(run, "approve", proposed, "--note", "Seen it.") for _ in range(2)]
    assert [ended.status for ended in done] == [0, 0]
    assert "op-1: executed, 1 of 1 approvals." in done[0].out
    assert "nothing was done twice" in done[1].out
    assert state(ready) == "not_applicable"


def test_nobody_approves_their_own_here_either(ready: Database, run: Run, proposed: int) -> None:
    ended = decide(run, "approve", proposed, who="support")
    assert (ended.status, "their own proposal" in ended.err, state(ready)) == (2, True, "manual_review")
    with reading(ready) as session:
        entry = session.scalars(select(AuditEntry).order_by(AuditEntry.seq.desc()).limit(1)).one()
    assert (entry.action, entry.actor_id, entry.outcome) == ("approve", "support@example.com", "refused")


def test_without_the_password_nothing_is_decided(ready: Database, run: Run, proposed: int) -> None:
    ended = decide(run, "approve", proposed, password="guessed it perhaps")
    assert (ended.status, "not the password" in ended.err, state(ready)) == (2, True, "manual_review")


def test_a_rejection_says_why_and_who_proposed_takes_back(ready: Database, run: Run, proposed: int) -> None:
    assert "at least 15" in decide(run, "reject", proposed, "--note", "no").err
    ended = decide(run, "withdraw", proposed, who="support")
    assert (ended.status, "withdrawn" in ended.out, state(ready)) == (0, True, "manual_review")
