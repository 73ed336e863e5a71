"""Faults 25 to 27: a change while a person approves voids it; nobody approves their own; two approvers, one effect."""

import threading
from collections.abc import Callable
from typing import Any

from sqlalchemy import select, update

from dashboard.db import Database, reading, transact
from dashboard.domain.actions import ActionName
from dashboard.domain.approval import Vote
from dashboard.domain.errors import OperationsError
from dashboard.domain.permissions import Actor, Permission, Role
from dashboard.models import Action, AuditEntry, Operation
from dashboard.services import approvals
from dashboard.services.actions import ActionForm, ActionRequest, perform
from tests import factories
from tests.api.conftest import Program, application, make_token
from tests.faults.conftest import Shop
from tests.services.people import person


def in_review(shop: Shop) -> None:
    """An operation whose effect is proven absent."""
    shop.register()
    values = {"state": "manual_review", "revision": 2, **factories.proven_absent()}
    transact(shop.database, lambda session: session.execute(update(Operation).values(values)))


def called(shop: Shop, name: str, *permissions: Permission) -> Program:
    """A program that calls the API with these permissions."""
    secret = make_token(shop.database, *permissions, tenant="shop", name=name)
    return Program(application(shop.database).test_client(), secret)


def propose(shop: Shop, who: Actor, *, key: str = "form-1") -> int:
    """A requeue of an operation in review that waits for approval."""
    in_review(shop)
    request = ActionRequest(who, "op-1", ActionName.REQUEUE, shop.policies)
    proposed = perform(shop.database, request, ActionForm(key, 2, "effect_absent", factories.NOTE))
    assert (proposed.state, shop.facts()) == ("proposed", (0, "manual_review"))
    return proposed.action_id


def approve(shop: Shop, who: Actor, number: int, key: str = "vote-1") -> str:
    """The state after the vote, or the code of its refusal."""
    wishes: dict[str, Any] = {"decision": Vote.APPROVE, "note": None, "policies": shop.policies}
    try:
        done = approvals.decide(shop.database, actor=who, action_id=number, idempotency_key=key, **wishes)
    except OperationsError as refusal:
        return refusal.code
    return "repeated" if done.repeated else done.state


def at_once(*calls: Callable[[], str]) -> list[str]:
    found: list[str] = []
    start = threading.Barrier(len(calls))

    def run(call: Callable[[], str]) -> None:
        start.wait()
        found.append(call())

    threads = [threading.Thread(target=run, args=(call,)) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sorted(found)


def refusals(database: Database) -> list[tuple[str, str]]:
    with reading(database) as session:
        refused = select(AuditEntry).where(AuditEntry.outcome == "refused").order_by(AuditEntry.seq)
        return [(entry.action, entry.actor_id) for entry in session.scalars(refused)]


def test_a_change_before_the_vote_voids_it_and_nothing_is_sent(shop: Shop) -> None:
    number = propose(shop, person(shop.database, Role.SUPPORT))
    transact(shop.database, lambda session: session.execute(update(Operation).values(revision=3)))
    assert approve(shop, person(shop.database, Role.OPERATOR), number) == "approval_void"
    shop.send()
    assert shop.facts() == (0, "manual_review")
    with reading(shop.database) as session:
        ended = session.scalars(select(Action)).one()
    assert (ended.state, ended.ended_because) == ("void", "operation_changed")


def test_of_an_approval_and_a_closing_at_once_one_wins_and_the_other_says_so(shop: Shop) -> None:
    number = propose(shop, person(shop.database, Role.SUPPORT))
    operator, manager = person(shop.database, Role.OPERATOR), person(shop.database, Role.MANAGER)

    def close() -> str:
        form = ActionForm("form-2", 2, "cancelled", factories.NOTE)
        request = ActionRequest(manager, "op-1", ActionName.CLOSE, shop.policies)
        try:
            return f"closed: {perform(shop.database, request, form).state}"
        except OperationsError as refusal:
            return refusal.code

    found = at_once(close, lambda: approve(shop, operator, number))
    shop.send()
    if "executed" in found:
        assert found in (["changed_meanwhile", "executed"], ["executed", "transition_not_allowed"])
        assert shop.facts() == (1, "confirmed")
    else:
        assert found == ["approval_void", "closed: executed"]
        assert shop.facts() == (0, "not_applicable")


def test_two_approvers_at_once_and_an_approval_used_twice_make_one_effect(shop: Shop) -> None:
    number = propose(shop, person(shop.database, Role.SUPPORT))
    first, second = person(shop.database, Role.OPERATOR), person(shop.database, Role.MANAGER)
    found = at_once(
        lambda: approve(shop, first, number),
        lambda: approve(shop, first, number),
        lambda: approve(shop, second, number),
    )
    assert found in (["executed", "not_waiting", "repeated"], ["executed", "not_waiting", "not_waiting"])
    assert approve(shop, second, number, "vote-2") in {"not_waiting", "voted_already"}
    shop.send()
    shop.send()
    assert shop.facts() == (1, "confirmed")


def test_the_own_proposal_is_refused_to_a_program_as_to_a_person(shop: Shop) -> None:
    in_review(shop)
    permissions = (Permission.BROWSE, Permission.PROPOSE, Permission.APPROVE, Permission.EXECUTE)
    program = called(shop, "robot", *permissions[:3])
    wish = {"action": "requeue", "revision": 2, "reason_code": "effect_absent", "note": factories.NOTE}
    proposed = program.post("/operations/op-1/actions", wish)
    assert (proposed.status_code, proposed.json["state"]) == (201, "proposed"), proposed.json
    path = f"/actions/{proposed.json['action_id']}/approve"
    answer = program.post(path, {})
    assert (answer.status_code, answer.json["code"]) == (403, "own_approval")
    assert called(shop, "reader", Permission.BROWSE, Permission.PROPOSE).post(path, {}).status_code == 403
    assert ("approve", "token:robot") in refusals(shop.database)
    shop.send()
    assert shop.facts() == (0, "manual_review")
    assert called(shop, "second", *permissions).post(path, {}).json["state"] == "executed"
    shop.send()
    assert shop.facts() == (1, "confirmed")
