"""Notices: who can approve a proposal is told, by message and by mail, and nobody else."""

import json
import smtplib
from collections.abc import Iterator
from decimal import Decimal

import pytest
from sqlalchemy import select
from sqlalchemy.orm import Session

from dashboard.adapters.mail import MailServer
from dashboard.db import Database, reading, transact
from dashboard.domain.actions import ActionName
from dashboard.domain.approval import Vote
from dashboard.domain.permissions import Actor, Grant, Role
from dashboard.domain.policy import Approvals, Policies, TypePolicy
from dashboard.models import OutboxMessage, User
from dashboard.services import approvals, bulk_runs, grant_rows, mailing
from dashboard.services.actions import ActionForm, ActionRequest, Performed, perform
from tests import factories
from tests.mail_server import Letters, receiving
from tests.services import planning
from tests.services.people import person

TOLD = Policies(hash="a" * 64, types={"charge_order": TypePolicy(approvals=Approvals({"close": 1}, notify="hook"))})
FORM = ActionForm("form-1", 1, "cancelled", "A note that nobody but us may read.")


@pytest.fixture
def letters() -> Iterator[Letters]:
    with receiving() as found:
        yield found


def propose(database: Database, *, tenant: str = "tienda-es") -> Performed:
    operation_id = transact(database, lambda session: factories.operation(session, tenant=tenant).operation_id)
    proposer = person(database, Role.OPERATOR, name=f"operator@{tenant}.example", tenant=tenant)
    return perform(database, ActionRequest(proposer, operation_id, ActionName.CLOSE, TOLD), FORM)


def mail(database: Database, letters: Letters) -> bool:
    server = MailServer("127.0.0.1", letters.port, "none", "dashboard@shop.example")
    return mailing.tell_approvers(database, server=server, public_url="https://ops.shop.example")


def test_a_proposal_and_its_end_are_announced_with_the_change_itself(database: Database) -> None:
    proposed = propose(database)
    approvals.decide(
        database,
        actor=person(database, Role.MANAGER),
        action_id=proposed.action_id,
        decision=Vote.REJECT,
        note=factories.NOTE,
        idempotency_key="vote-1",
        policies=TOLD,
    )
    with reading(database) as session:
        messages = session.scalars(select(OutboxMessage).order_by(OutboxMessage.id)).all()
    assert [(each.sink, each.topic, json.loads(each.payload)["state"]) for each in messages] == [
        ("hook", "approval.requested", "proposed"),
        ("hook", "approval.ended", "rejected"),
    ]
    assert not any("nobody but us" in each.payload for each in messages)


def test_who_can_approve_gets_one_mail_and_nobody_else(database: Database, letters: Letters) -> None:
    proposed = propose(database)
    for role, name in ((Role.MANAGER, "boss"), (Role.SUPPORT, "desk"), (Role.ADMIN, "root")):
        person(database, role, name=f"{name}@shop.example")
    person(database, Role.MANAGER, name="far@shop.example", tenant="shop-jp")
    assert [mail(database, letters) for _ in range(2)] == [True, False]
    [(to, text)] = letters.kept
    assert to == "boss@shop.example"
    assert f"https://ops.shop.example/actions/{proposed.action_id}" in text
    assert "nobody but us" not in text


def test_mail_that_is_not_taken_is_sent_later(sqlite_database: Database, letters: Letters) -> None:
    propose(sqlite_database)
    person(sqlite_database, Role.MANAGER)
    letters.refuses = True
    with pytest.raises(smtplib.SMTPException):
        mail(sqlite_database, letters)
    letters.refuses = False
    assert (mail(sqlite_database, letters), len(letters.kept)) == (True, 1)


def test_one_who_cannot_be_reached_gives_nobody_a_second_mail(sqlite_database: Database, letters: Letters) -> None:
    propose(sqlite_database)
    for name in ("a@shop.example", "gone@shop.example", "z@shop.example"):
        person(sqlite_database, Role.MANAGER, name=name)
    letters.unknown = frozenset({"gone@shop.example"})
    assert [mail(sqlite_database, letters) for _ in range(2)] == [True, False]
    assert [to for to, _ in letters.kept] == ["a@shop.example", "z@shop.example"]


def test_a_proposal_that_cannot_be_mailed_is_in_no_others_way(sqlite_database: Database, letters: Letters) -> None:
    propose(sqlite_database)
    person(sqlite_database, Role.MANAGER, name="gone@shop.example", tenant="tienda-es")
    later = propose(sqlite_database, tenant="shop-jp")
    person(sqlite_database, Role.MANAGER, name="here@shop.example", tenant="shop-jp")
    letters.unknown = frozenset({"gone@shop.example"})
    with pytest.raises(smtplib.SMTPException):
        mail(sqlite_database, letters)
    [(to, text)] = letters.kept
    assert (to, f"/actions/{later.action_id}\r" in text) == ("here@shop.example", True)


def plan(database: Database) -> int:
    ids = transact(database, lambda session: [factories.operation(session).operation_id for _ in range(3)])
    maker = person(database, Role.OPERATOR, name="maker@shop.example")
    drafted = planning.make(database, maker, ids, policies=TOLD).plan_id
    assert planning.step(database, maker, drafted, "start", policies=TOLD).state == "waiting"
    return drafted


def test_a_waiting_plan_and_its_end_are_announced_once_each_however_many_rows_it_has(database: Database) -> None:
    drafted, manager = plan(database), person(database, Role.MANAGER)
    planning.step(database, manager, drafted, "approve", policies=TOLD)
    while bulk_runs.run_due(database, policies=TOLD):
        pass
    with reading(database) as session:
        messages = session.scalars(select(OutboxMessage).order_by(OutboxMessage.id)).all()
    told = [(each.topic, each.aggregate_key, json.loads(each.payload)["state"]) for each in messages]
    assert told == [("approval.requested", "plan-1", "waiting"), ("approval.ended", "plan-1", "running")]


def test_who_can_approve_a_plan_gets_one_mail_about_it(database: Database, letters: Letters) -> None:
    drafted = plan(database)
    for role, name in ((Role.MANAGER, "boss"), (Role.SUPPORT, "desk"), (Role.ADMIN, "root")):
        person(database, role, name=f"{name}@shop.example")
    person(database, Role.MANAGER, name="far@shop.example", tenant="shop-jp")
    assert [mail(database, letters) for _ in range(2)] == [True, False]
    [(to, text)] = letters.kept
    assert (to, f"https://ops.shop.example/bulk/{drafted}" in text) == ("boss@shop.example", True)
    assert ("close 3 operations" in text, factories.NOTE in text) == (True, False)


def test_those_who_can_approve_a_plan_only_together_are_all_told(database: Database, letters: Letters) -> None:
    limited = Policies(
        hash="c" * 64, types={"charge_order": TypePolicy(approvals=Approvals(manager_above={"EUR": Decimal(1)}))}
    )
    tenants = ("tienda-es", "loja-br")

    def rows(session: Session) -> list[str]:
        return [
            factories.operation(session, tenant=each, amount="9.00", currency="EUR").operation_id for each in tenants
        ]

    maker = person(database, Role.OPERATOR, name="maker@shop.example")
    drafted = planning.make(database, maker, transact(database, rows), policies=limited).plan_id
    assert planning.step(database, maker, drafted, "start", policies=limited).state == "waiting"
    for high, low in (tenants, tenants[::-1]):
        someone = person(database, Role.MANAGER, name=f"{high}@shop.example", tenant=high)
        also_allow(database, someone, Grant(Role.OPERATOR, low))
    assert mail(database, letters) is True
    assert sorted(to for to, _ in letters.kept) == ["loja-br@shop.example", "tienda-es@shop.example"]


def also_allow(database: Database, who: Actor, grant: Grant) -> None:
    number = select(User.id).where(User.email == who.id)
    transact(
        database,
        lambda session: session.add(grant_rows.row_of(session.scalars(number).one(), grant, now=factories.NOW)),
    )
