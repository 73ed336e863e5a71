"""Fault 24: two reconcilers meet one operation: one action."""

import threading
from datetime import timedelta

import pytest
from sqlalchemy import select, update
from sqlalchemy.orm import Session

from dashboard.db import clock, transact
from dashboard.domain.errors import LostRaceError
from dashboard.domain.permissions import Role
from dashboard.models import Operation
from tests import factories
from tests.destination import Planned
from tests.reconciling import Payments


def test_two_passes_at_once_look_and_act_once(payments: Payments) -> None:
    payments.behaving(honours_idempotency_key=True)
    for number in range(6):
        payments.sent(f"op-{number}")
    payments.destination.always_answer(Planned(200, b'{"data": []}', delay=0.05))
    payments.asks(as_of=None)
    start = threading.Barrier(2)
    passes = [threading.Thread(target=_reconcile, args=(payments, start)) for _ in range(2)]
    for one in passes:
        one.start()
    for one in passes:
        one.join()
    assert {payments.facts(f"op-{number}") for number in range(6)} == {(0, "retry_scheduled", "absent")}
    assert payments.destination.looks() == 6
    assert len(payments.events("transition")) == 12
    assert sum(run.acted for run in payments.runs()) == 6


def test_what_a_person_changed_during_the_look_is_left_as_it_is(payments: Payments) -> None:
    payments.sent()
    payments.shows()
    payments.destination.answer_looks(Planned(delay=0.5, body=b'{"data": []}'))
    looking = threading.Thread(target=payments.reconcile)
    looking.start()
    while not payments.destination.looks():
        threading.Event().wait(0.02)
    transact(payments.database, _escalate)
    looking.join()
    assert payments.row().state == "manual_review"
    assert payments.row().lease_token is None
    assert payments.found() == [("ambiguous", "changed_meanwhile", "wait", False)]
    assert payments.events() == []


def test_a_check_while_another_has_it_says_so(payments: Payments) -> None:
    payments.sent()
    transact(payments.database, _lease)
    with pytest.raises(LostRaceError, match="check_busy"):
        payments.look(factories.actor(Role.SUPPORT))
    assert payments.destination.looks() == 0


def _reconcile(payments: Payments, start: threading.Barrier) -> None:
    start.wait()
    payments.reconcile()


def _escalate(session: Session) -> None:
    row = session.scalars(select(Operation)).one()
    session.execute(update(Operation).values(state="manual_review", revision=row.revision + 1))


def _lease(session: Session) -> None:
    until = clock(session) + timedelta(minutes=1)
    session.execute(update(Operation).values(lease_token="somebody", lease_until=until))
