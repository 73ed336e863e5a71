"""Approvals: a second person agrees to exactly what was proposed, and nobody to their own."""

import threading
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from sqlalchemy import func, select, update

from dashboard.db import Database, reading, transact
from dashboard.domain.errors import OperationsError
from dashboard.domain.permissions import Role
from dashboard.models import Action, Approval, Operation, OperationEvent
from dashboard.services import proposals
from tests import factories
from tests.services.approving import POLICIES, add, children, code, decide, entries, propose, stored, under
from tests.services.people import dismiss, person


def test_support_proposes_an_operator_approves_and_it_is_done_once(database: Database) -> None:
    support, operator = person(database, Role.SUPPORT), person(database, Role.OPERATOR)
    proposed = propose(database, support)
    assert (proposed.state, children(database)) == ("proposed", 0)
    done = decide(database, operator, proposed, note="I have seen both payments.")
    assert (done.state, done.approvals, done.needed, children(database)) == ("executed", 1, 1, 1)
    assert entries(database) == [
        ("propose", support.id, "done"),
        ("approve", operator.id, "done"),
        ("compensate", operator.id, "done"),
    ]
    assert (stored(database).requested_by, stored(database).outcome) == (support.id, "to_verify")
    with reading(database) as session:
        kinds = [(event.kind, event.actor_id) for event in session.scalars(select(OperationEvent))]
    assert kinds.count(("approval", operator.id)) == 1


def test_nobody_approves_their_own_and_that_is_audited(database: Database) -> None:
    operator = person(database, Role.OPERATOR)
    proposed = propose(database, operator)
    assert code(database, operator, proposed) == "own_approval"
    assert (entries(database)[-1], children(database)) == (("approve", operator.id, "refused"), 0)


def test_an_approval_used_twice_counts_once(database: Database) -> None:
    operator = person(database, Role.OPERATOR)
    proposed = propose(database, person(database, Role.SUPPORT))
    decide(database, operator, proposed)
    assert decide(database, operator, proposed).repeated
    assert code(database, operator, proposed, key="vote-2") == "voted_already"
    assert code(database, person(database, Role.MANAGER), proposed) == "not_waiting"
    assert children(database) == 1


def test_two_approvers_at_once_make_one_execution(database: Database) -> None:
    voters = [person(database, Role.OPERATOR, name=f"operator-{number}@example.com") for number in range(6)]
    proposed = propose(database, person(database, Role.SUPPORT))
    found: list[str] = []
    threads = [threading.Thread(target=lambda who=who: found.append(code(database, who, proposed))) for who in voters]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == ["executed"] + ["not_waiting"] * 5
    assert children(database) == 1


def test_a_change_of_the_operation_voids_the_proposal_and_says_so(database: Database) -> None:
    proposed = propose(database, person(database, Role.SUPPORT))
    operator, manager = person(database, Role.OPERATOR), person(database, Role.MANAGER)
    transact(database, lambda session: session.execute(update(Operation).values(revision=2)))
    assert code(database, operator, proposed) == "approval_void"
    assert (stored(database).state, stored(database).ended_because) == ("void", "operation_changed")
    assert code(database, manager, proposed) == "not_waiting"
    assert ("proposal_void", "approvals", "done") in entries(database)
    assert children(database) == 0


def test_the_worker_ends_what_no_longer_stands(database: Database) -> None:
    support = person(database, Role.SUPPORT)
    changed, old, standing = (propose(database, support, idempotency_key=f"form-{number}") for number in range(3))
    ids = {"changed": changed.operation_id, "old": old.action_id}

    def pass_time(session: Any) -> None:
        session.execute(update(Operation).where(Operation.operation_id == ids["changed"]).values(revision=2))
        session.execute(update(Action).where(Action.id == ids["old"]).values(expires_at=factories.NOW))

    transact(database, pass_time)
    assert [proposals.sweep(database, policies=POLICIES) for _ in range(2)] == [True, False]
    with reading(database) as session:
        states = list(session.scalars(select(Action.state).order_by(Action.id)))
    assert states == ["void", "expired", "proposed"]
    assert standing.state == "proposed"


def test_a_proposal_expires_by_the_clock_of_the_database(database: Database) -> None:
    proposed = propose(database, person(database, Role.SUPPORT), policies=under(expires=timedelta(seconds=-1)))
    assert code(database, person(database, Role.OPERATOR), proposed, policies=under()) == "approval_expired"
    assert (stored(database).state, children(database)) == ("expired", 0)


def test_who_lost_the_grant_a_second_ago_can_no_longer_approve(database: Database) -> None:
    operator = person(database, Role.OPERATOR)
    proposed = propose(database, person(database, Role.SUPPORT))
    dismiss(database, operator)
    assert code(database, operator, proposed) == "not_allowed"
    assert (stored(database).state, children(database)) == ("proposed", 0)


def test_a_vote_of_who_lost_the_grant_since_no_longer_counts(database: Database) -> None:
    twice = under(needed={"compensate": 2})
    first, second = person(database, Role.OPERATOR), person(database, Role.MANAGER)
    proposed = propose(database, person(database, Role.SUPPORT), policies=twice)
    assert code(database, first, proposed, policies=twice) == "proposed"
    dismiss(database, first)
    assert (code(database, second, proposed, policies=twice), children(database)) == ("proposed", 0)
    third = person(database, Role.OPERATOR, name="third@example.com")
    assert (code(database, third, proposed, policies=twice), children(database)) == ("executed", 1)


@pytest.mark.parametrize(
    ("values", "limits"),
    [
        ({}, {"EUR": Decimal(300)}),
        ({}, {"JPY": Decimal(90000)}),
        ({"amount": None, "currency": None}, {"EUR": Decimal(900)}),
    ],
)
def test_above_the_limit_or_in_a_currency_without_one_a_manager_must_agree(
    database: Database, values: dict[str, Any], limits: dict[str, Decimal]
) -> None:
    limited = under(needed={}, manager_above=limits)
    proposer, operator = person(database, Role.OPERATOR), person(database, Role.OPERATOR, name="second@example.com")
    proposed = propose(database, proposer, policies=limited, operation_id=add(database, **values))
    assert proposed.state == "proposed"
    assert code(database, operator, proposed, policies=limited) == "not_allowed"
    assert code(database, person(database, Role.MANAGER), proposed, policies=limited) == "executed"


def test_up_to_the_limit_nobody_else_is_asked(sqlite_database: Database) -> None:
    limited = under(needed={}, manager_above={"EUR": Decimal("318.93")})
    assert propose(sqlite_database, person(sqlite_database, Role.OPERATOR), policies=limited).state == "executed"


def test_a_policy_that_asks_for_more_meanwhile_voids_and_one_that_asks_for_less_does_not(database: Database) -> None:
    support, operator = person(database, Role.SUPPORT), person(database, Role.OPERATOR)
    stricter = replace(under(needed={"compensate": 2}), hash="b" * 64)
    proposed = propose(database, support)
    assert code(database, operator, proposed, policies=stricter) == "approval_void"
    assert stored(database).ended_because == "policy_asks_more"
    again = propose(database, support, idempotency_key="form-2", policies=stricter)
    first = code(database, operator, again, policies=stricter)
    assert (first, children(database)) == ("proposed", 0)
    laxer = replace(POLICIES, hash="c" * 64)
    manager = person(database, Role.MANAGER)
    assert code(database, manager, again, policies=laxer) == "executed"


def test_a_proposal_that_was_altered_in_the_table_is_void(database: Database) -> None:
    proposed = propose(database, person(database, Role.SUPPORT))
    transact(database, lambda session: session.execute(update(Action).values(amount="999.00")))
    assert code(database, person(database, Role.OPERATOR), proposed) == "approval_void"
    assert stored(database).ended_because == "evidence_changed"


def test_only_who_proposed_withdraws_and_a_rejection_says_why(database: Database) -> None:
    support, operator = person(database, Role.SUPPORT), person(database, Role.OPERATOR)
    proposed = propose(database, support)
    assert code(database, operator, proposed, "withdraw") == "not_proposer"
    assert code(database, operator, proposed, "reject", note="no") == "invalid_input"
    assert code(database, operator, proposed, "reject", note=factories.NOTE) == "rejected"
    again = propose(database, support, operation_id=proposed.operation_id, idempotency_key="form-2")
    assert code(database, support, again, "withdraw") == "withdrawn"
    assert children(database) == 0


def test_support_approves_nothing_and_strangers_find_nothing(database: Database) -> None:
    proposed = propose(database, person(database, Role.OPERATOR))
    assert code(database, person(database, Role.SUPPORT), proposed) == "not_allowed"
    stranger = person(database, Role.MANAGER, name="far@example.com", tenant="shop-jp")
    assert code(database, stranger, proposed) == "not_found"
    assert code(database, person(database, Role.ADMIN), proposed) == "not_found"
    assert [entry[2] for entry in entries(database)] == ["done", "refused", "refused", "refused"]


def test_the_same_thing_is_not_proposed_twice(sqlite_database: Database) -> None:
    support = person(sqlite_database, Role.SUPPORT)
    proposed = propose(sqlite_database, support)
    with pytest.raises(OperationsError) as caught:
        propose(sqlite_database, support, operation_id=proposed.operation_id, idempotency_key="form-2")
    assert (caught.value.code, caught.value.details["action_id"]) == ("proposed_already", proposed.action_id)


def test_what_stands_in_the_way_by_now_refuses_the_approval_and_keeps_the_proposal(sqlite_database: Database) -> None:
    proposed = propose(sqlite_database, person(sqlite_database, Role.SUPPORT))
    held = {"assigned_to": "third@example.com", "assigned_until": datetime.now(UTC) + timedelta(hours=1)}
    transact(sqlite_database, lambda session: session.execute(update(Operation).values(held)))
    assert code(sqlite_database, person(sqlite_database, Role.OPERATOR), proposed) == "claimed"
    assert stored(sqlite_database).state == "proposed"
    with reading(sqlite_database) as session:
        assert session.scalar(select(func.count()).select_from(Approval)) == 0
