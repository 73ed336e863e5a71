"""Outcomes are recorded together with what ended meanwhile, and no one's trouble costs another's."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any, cast

import pytest
import sqlalchemy as sa
from sqlalchemy import event

from dashboard import ledger
from dashboard.db import Database, clock, reading, transact
from dashboard.domain.causes import Failure
from dashboard.domain.permissions import Actor
from dashboard.domain.policy import Policies
from dashboard.domain.states import ActorKind, Cause
from dashboard.ledger import Confirmed, Handlers, Sent, Work
from dashboard.models import Operation, OperationEvent
from dashboard.services import attempts, work
from dashboard.services.recording import UNRECORDED
from tests import factories

WORKER = Actor(ActorKind.WORKER, "worker-1")
SECOND = timedelta(seconds=1)


def claimed(database: Database, number: int) -> tuple[Work, ...]:
    def unit(session: Any) -> None:
        now = clock(session)
        for _ in range(number):
            factories.operation(session, state="pending", attempts=0, next_attempt_at=now - SECOND)

    transact(database, unit)
    return ledger.claim(database, types={"charge_order"}, actor=WORKER)


def settle(database: Database, outcomes: list[Any]) -> list[Work]:
    return list(
        transact(database, lambda session: attempts.settle(session, outcomes, policies=Policies(), actor=WORKER))
    )


@contextmanager
def counted_statements(database: Database) -> Iterator[list[str]]:
    statements: list[str] = []

    def note(_connection: Any, _cursor: Any, statement: str, *_rest: Any) -> None:
        statements.append(statement)

    event.listen(database.engine, "before_cursor_execute", note)
    yield statements
    event.remove(database.engine, "before_cursor_execute", note)


def states(database: Database) -> list[str]:
    with reading(database) as session:
        return list(session.scalars(sa.select(Operation.state).order_by(Operation.id)))


def test_outcomes_of_every_kind_are_recorded_together(database: Database) -> None:
    works = claimed(database, 4)
    answers = [Confirmed("ch_1"), Sent("ch_2"), Failure(Cause.NOT_SENT, "refused"), Failure(Cause.PERMANENT, "no")]
    assert settle(database, list(zip(works, answers, strict=True))) == []
    assert states(database) == ["confirmed", "awaiting_confirmation", "retry_scheduled", "manual_review"]
    with reading(database) as session:
        rows = session.execute(
            sa.select(OperationEvent.to_state, sa.func.max(OperationEvent.seq))
            .where(OperationEvent.from_state == "processing")
            .group_by(OperationEvent.to_state)
        )
        assert {row.to_state for row in rows} == set(states(database))


def test_who_lost_its_lease_is_named_and_the_others_are_recorded(database: Database) -> None:
    works = claimed(database, 3)
    stolen = sa.update(Operation).where(Operation.id == works[1].number).values(lease_token="somebody else's")
    transact(database, lambda session: session.execute(stolen))
    assert settle(database, [(each, Confirmed("ch_1")) for each in works]) == [works[1]]
    assert states(database) == ["confirmed", "processing", "confirmed"]


@pytest.mark.parametrize("number", [1, UNRECORDED])
def test_many_outcomes_take_as_many_statements_as_one(database: Database, number: int) -> None:
    works = claimed(database, number)
    with counted_statements(database) as statements:
        settle(database, [(each, Confirmed("ch_1")) for each in works])
    assert states(database) == ["confirmed"] * number
    assert len([statement for statement in statements if not statement.startswith("BEGIN")]) == 5


def test_a_handler_that_answers_nonsense_costs_no_other_its_outcome(database: Database) -> None:
    handlers = Handlers()

    @handlers.handles("charge_order", single_request=True)
    def charge(asked: Work) -> Confirmed:
        return Confirmed(cast("str", asked.number) if asked.number % 3 == 0 else "ch_1")

    works = claimed(database, 6)
    settle(database, [(each, attempts.Unsent()) for each in works])
    context = work.Context(Policies(), WORKER, handlers, concurrency=3)
    assert work.send_due(database, context)
    assert work.send_due(database, context)
    assert sorted(states(database)) == ["confirmed"] * 4 + ["processing"] * 2
