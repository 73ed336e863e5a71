"""Claims of people: one at a time, for a time, and nobody acts past one without taking it over in the open."""

from datetime import timedelta

import pytest
from sqlalchemy import select, update
from sqlalchemy.orm import Session

from dashboard.db import Database, clock, reading, transact
from dashboard.domain.actions import ActionName
from dashboard.domain.errors import OperationsError
from dashboard.domain.permissions import Actor, Role
from dashboard.domain.policy import Policies
from dashboard.models import AuditEntry, Operation, OperationEvent
from dashboard.services import audit, claims
from dashboard.services.actions import ActionForm, ActionRequest, perform
from tests import factories

ANA = factories.actor(Role.SUPPORT, name="ana@example.com")
EVA = factories.actor(Role.OPERATOR, name="eva@example.com")


def add(database: Database, **values: str) -> str:
    return transact(database, lambda session: factories.operation(session, **values).operation_id)


def claim(database: Database, who: Actor, operation_id: str, note: str | None = None) -> str | None:
    """Who has it then, or the code of the refusal."""
    try:
        return claims.claim(database, actor=who, operation_id=operation_id, note=note).holder
    except OperationsError as refusal:
        return refusal.code


def close(database: Database, who: Actor, operation_id: str) -> str:
    form = ActionForm(f"form-{who.id}", 1, "cancelled", factories.NOTE)
    try:
        return perform(database, ActionRequest(who, operation_id, ActionName.CLOSE, Policies()), form).state
    except OperationsError as refusal:
        return refusal.code


def history(database: Database) -> list[tuple[str, str]]:
    """The audit log's actions and outcomes; the chain must verify and each claim done is an event as well."""
    with reading(database) as session:
        assert audit.verify(session).intact
        entries = session.scalars(select(AuditEntry).order_by(AuditEntry.seq)).all()
        events = session.scalars(select(OperationEvent).where(OperationEvent.kind == "claim")).all()
    assert len(events) == len([entry for entry in entries if entry.outcome == "done" and entry.action != "close"])
    return [(entry.action, entry.outcome) for entry in entries]


def test_who_has_claimed_it_acts_and_others_are_told_who(database: Database) -> None:
    operation_id = add(database)
    assert [claim(database, ANA, operation_id), claim(database, EVA, operation_id)] == [ANA.id, "claimed"]
    assert close(database, EVA, operation_id) == "claimed"
    assert close(database, ANA, operation_id) == "proposed"
    with reading(database) as session:
        row = session.scalars(select(Operation)).one()
    assert (row.assigned_to, row.revision) == (ANA.id, 1)


def test_a_claim_is_taken_over_with_a_note_that_says_something(database: Database) -> None:
    operation_id = add(database)
    claim(database, ANA, operation_id)
    assert claim(database, EVA, operation_id, "mine") == "invalid_input"
    assert claim(database, EVA, operation_id, "Ana has gone home; the customer waits.") == EVA.id
    assert close(database, EVA, operation_id) == "executed"
    assert history(database) == [
        ("claim", "done"),
        ("takeover", "refused"),
        ("takeover", "done"),
        ("close", "done"),
    ]


def test_a_claim_ends_by_itself(database: Database) -> None:
    operation_id = add(database)
    claim(database, ANA, operation_id)

    def pass_time(session: Session) -> None:
        session.execute(update(Operation).values(assigned_until=clock(session) - timedelta(seconds=1)))

    transact(database, pass_time)
    assert claim(database, EVA, operation_id) == EVA.id


def test_only_who_has_it_gives_it_back(database: Database) -> None:
    operation_id = add(database)
    claim(database, ANA, operation_id)
    with pytest.raises(OperationsError, match="claimed"):
        claims.release(database, actor=EVA, operation_id=operation_id)
    for _ in range(2):
        assert claims.release(database, actor=ANA, operation_id=operation_id).holder is None
    assert history(database) == [("claim", "done"), ("release", "refused"), ("release", "done")]


def test_what_has_ended_or_lies_elsewhere_is_not_claimed(sqlite_database: Database) -> None:
    assert claim(sqlite_database, ANA, add(sqlite_database, state="confirmed")) == "not_open"
    far = factories.actor(Role.SUPPORT, tenant="shop-jp")
    assert claim(sqlite_database, far, add(sqlite_database)) == "not_found"
    assert claim(sqlite_database, factories.actor(Role.ADMIN), add(sqlite_database)) == "not_found"


def test_a_name_without_a_time_is_a_word_of_the_host_and_holds_nothing(sqlite_database: Database) -> None:
    operation_id = add(sqlite_database, assigned_to="team-payments")
    assert close(sqlite_database, EVA, operation_id) == "executed"
