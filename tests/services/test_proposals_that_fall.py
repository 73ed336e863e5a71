"""A proposal falls with the right of who made it, and undoing what is not there needs an override."""

from datetime import timedelta

import pytest
from sqlalchemy import update
from sqlalchemy.orm import Session

from dashboard.db import Database, clock, transact
from dashboard.domain.errors import InvalidInputError
from dashboard.domain.permissions import Actor, Permission, Role
from dashboard.domain.states import ActorKind
from dashboard.models import Operation
from dashboard.services import tokens
from tests import factories
from tests.services.approving import add, children, code, propose, stored
from tests.services.people import dismiss, person


def test_a_proposal_is_void_once_who_proposed_it_may_not_ask_for_it_any_more(database: Database) -> None:
    support, operator = person(database, Role.SUPPORT), person(database, Role.OPERATOR)
    proposed = propose(database, support)
    dismiss(database, support)
    assert code(database, operator, proposed) == "approval_void"
    assert (stored(database).state, stored(database).ended_because) == ("void", "proposer_may_not")
    assert children(database) == 0


def test_so_is_one_of_a_token_that_was_revoked(database: Database) -> None:
    admin, operator = person(database, Role.ADMIN), person(database, Role.OPERATOR)

    def make(session: Session) -> Actor:
        row, _ = tokens.create(
            session,
            actor=admin,
            name="billing",
            tenant="tienda-es",
            types=(),
            permissions=(Permission.BROWSE, Permission.PROPOSE),
            expires_in=timedelta(days=1),
            now=clock(session),
        )
        return Actor(ActorKind.API, f"token:{row.name}", tokens.grants_of(row))

    program = transact(database, make)
    first, second = propose(database, program), propose(database, program, idempotency_key="form-2")
    assert code(database, operator, first) == "executed"
    transact(database, lambda session: tokens.revoke(session, actor=admin, name="billing", now=clock(session)))
    assert code(database, operator, second) == "approval_void"
    assert stored(database).ended_because == "proposer_may_not"


def test_undoing_an_effect_that_was_not_found_needs_a_manager_who_overrides(database: Database) -> None:
    support, operator = person(database, Role.SUPPORT), person(database, Role.OPERATOR)
    absent = add(database, **factories.proven_absent())
    with pytest.raises(InvalidInputError) as refusal:
        propose(database, support, operation_id=absent)
    assert [each.code for each in refusal.value.problems] == ["proof_missing"]
    proposed = propose(database, support, operation_id=absent, reason_code="override")
    assert code(database, operator, proposed) == "not_allowed"
    assert code(database, person(database, Role.MANAGER), proposed) == "executed"
    with pytest.raises(InvalidInputError):
        propose(database, support, operation_id=add(database), reason_code="override", idempotency_key="form-2")


def test_an_approval_of_an_effect_that_is_found_absent_meanwhile_is_refused(database: Database) -> None:
    proposed = propose(database, person(database, Role.SUPPORT))
    transact(database, lambda session: session.execute(update(Operation).values(verdict="absent")))
    assert code(database, person(database, Role.OPERATOR), proposed) == "proof_missing"
    assert children(database) == 0
