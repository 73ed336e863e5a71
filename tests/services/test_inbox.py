"""The inbox: what waits, for whom, and what has lapsed is never counted as waiting."""

from typing import Any

import pytest
from sqlalchemy import update

from dashboard.db import Database, clock, reading, transact
from dashboard.domain.actions import ActionName
from dashboard.domain.ages import Windows
from dashboard.domain.permissions import Actor, Permission, Role, scopes
from dashboard.domain.policy import Approvals, Policies, TypePolicy
from dashboard.models import Action, Operation
from dashboard.queries.actions import ActionFilter, count_actions, list_actions
from dashboard.queries.figures import overview
from dashboard.queries.keyset import Position
from dashboard.queries.proposals import count_waiting
from dashboard.services.actions import ActionForm, ActionRequest, perform
from tests import factories

POLICIES = Policies(types={"charge_order": TypePolicy(approvals=Approvals({"close": 1}))})
SUPPORT, OPERATOR, MANAGER = (factories.actor(role) for role in (Role.SUPPORT, Role.OPERATOR, Role.MANAGER))


def propose(database: Database, action: str, reason: str, *, by: Actor = SUPPORT) -> str:
    operation_id = transact(database, lambda session: factories.operation(session).operation_id)
    form = ActionForm(f"form-{operation_id}", 1, reason, factories.NOTE)
    perform(database, ActionRequest(by, operation_id, ActionName(action), POLICIES), form)
    return operation_id


def waiting(database: Database, who: Actor) -> int:
    """How many wait for a person; the list says the same as the number."""
    with reading(database) as session:
        now = clock(session)
        number = count_waiting(session, who, now=now)
        visible = scopes(who.grants, Permission.BROWSE)
        page = list_actions(session, ActionFilter(waiting_for=who), scopes=visible, position=Position(), now=now)
    assert len(page.rows) == number
    return number


def states(database: Database) -> dict[str, int]:
    """The states of all actions as they are now; the filter of each state finds as many."""
    visible = scopes(MANAGER.grants, Permission.BROWSE)
    with reading(database) as session:
        now = clock(session)
        page = list_actions(session, ActionFilter(), scopes=visible, position=Position(), now=now)
        found = [row.state for row in page.rows]
        for state in ("proposed", "void", "expired"):
            look = ActionFilter(states=frozenset({state}))
            [counted] = count_actions(session, [look], scopes=visible, now=now)
            assert counted.value == found.count(state), state
        told = overview(session, scopes=visible, windows=Windows(), now=now, shown=0)
        assert told.approvals_waiting == found.count("proposed")
    return {state: found.count(state) for state in found}


def test_what_waits_for_whom(database: Database) -> None:
    propose(database, "close", "cancelled")
    propose(database, "requeue", "override")
    propose(database, "close", "cancelled", by=OPERATOR)
    assert [waiting(database, who) for who in (SUPPORT, OPERATOR, MANAGER)] == [0, 1, 3]


def test_what_has_lapsed_is_shown_as_such_before_anybody_writes_it_down(database: Database) -> None:
    changed, late, _standing = (propose(database, "close", "cancelled") for _ in range(3))

    def lapse(session: Any) -> None:
        session.execute(update(Operation).where(Operation.operation_id == changed).values(revision=2))
        session.execute(update(Action).where(Action.idempotency_key == f"form-{late}").values(expires_at=factories.NOW))

    transact(database, lapse)
    assert states(database) == {"void": 1, "expired": 1, "proposed": 1}
    assert waiting(database, MANAGER) == 1


@pytest.mark.parametrize("role", [Role.SUPPORT, Role.ADMIN])
def test_nothing_waits_for_who_cannot_approve(sqlite_database: Database, role: Role) -> None:
    propose(sqlite_database, "close", "cancelled")
    assert waiting(sqlite_database, factories.actor(role, name="other@example.com")) == 0
