import re
import threading
from collections import Counter
from datetime import timedelta
from types import MappingProxyType
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy.orm import Session

from dashboard import ledger
from dashboard.db import Database, clock, reading, transact
from dashboard.domain.permissions import Actor
from dashboard.domain.policy import Destination, Policies
from dashboard.domain.states import ActorKind
from dashboard.ledger import Confirmed, Handlers, Work
from dashboard.models import DestinationBudget, Operation
from dashboard.services import work
from dashboard.services.pace import Pace
from tests import factories

TYPES = {"charge_order"}
BUDGET = Policies(destinations=MappingProxyType({"payments": Destination("payments", retries_per_minute=3)}))


def add(database: Database, number: int, **values: Any) -> None:
    """Operations that are due, in the order of their numbers."""

    def unit(session: Session) -> None:
        now = clock(session)
        for index in range(number):
            due = now - timedelta(seconds=number - index)
            given = {"state": "pending", "attempts": 0, "next_attempt_at": due, "entity_id": f"{index}", **values}
            factories.operation(session, **given)

    transact(database, unit)


def names(claimed: tuple[Work, ...]) -> list[int]:
    return [int(each.entity_id) for each in claimed]


def test_a_claim_takes_what_is_due_earliest_first_and_at_most_a_hundred(database: Database) -> None:
    add(database, 120)
    assert names(ledger.claim(database, types=TYPES)) == list(range(100))
    assert names(ledger.claim(database, types=TYPES)) == list(range(100, 120))
    assert ledger.claim(database, types=TYPES) == ()


def test_what_a_host_wrote_without_a_due_time_is_due(database: Database) -> None:
    add(database, 1, next_attempt_at=None)
    (claimed,) = ledger.claim(database, types=TYPES)
    assert claimed.attempts == 1


@pytest.mark.parametrize(
    "values",
    [
        {"type": "refund_order"},
        {"state": "manual_review"},
        {"state": "awaiting_confirmation"},
        {"state": "confirmed"},
        {"next_attempt_at": factories.NOW + timedelta(days=3650)},
        {"lease_token": "a probe", "lease_until": factories.NOW + timedelta(days=3650)},
    ],
)
def test_what_is_not_due_is_left_alone(database: Database, values: dict[str, Any]) -> None:
    add(database, 1, **values)
    assert ledger.claim(database, types=TYPES) == ()


def test_a_claim_takes_as_many_statements_for_one_as_for_a_hundred(database: Database) -> None:
    statements: list[str] = []
    sa.event.listen(database.engine, "before_cursor_execute", lambda *given: statements.append(given[2]))
    counts = []
    for number in (1, 100):
        add(database, number, expected_version=1)
        statements.clear()
        assert len(ledger.claim(database, types=TYPES, limit=number)) == number
        counts.append(len(statements))
    assert counts[0] == counts[1]


def test_a_claim_never_walks_an_index_of_history(sqlite_database: Database) -> None:
    add(sqlite_database, 3, expected_version=1)
    plans: list[str] = []

    def explain(connection: Any, _cursor: Any, statement: str, parameters: Any, *_rest: object) -> None:
        if statement.startswith("SELECT") and " operations" in statement:
            rows = connection.connection.execute(f"EXPLAIN QUERY PLAN {statement}", parameters).fetchall()
            plans.extend(row[-1] for row in rows)

    sa.event.listen(sqlite_database.engine, "before_cursor_execute", explain)
    assert len(ledger.claim(sqlite_database, types=TYPES, limit=3)) == 3
    read = {found.group(1) for plan in plans if (found := re.search(r"USING (?:INDEX )?(\w+)", plan))}
    assert read == {"ix_operations_open_next", "ix_operations_open_entity", "ix_operations_entity", "INTEGER"}
    assert not [plan for plan in plans if plan.startswith("SCAN")]


def test_retries_over_the_budget_wait_for_the_next_minute_and_count_no_attempt(database: Database) -> None:
    add(database, 5, state="retry_scheduled", attempts=1)
    add(database, 2)
    claimed = ledger.claim(database, types=TYPES, policies=BUDGET)
    assert Counter(each.attempts for each in claimed) == {2: 3, 1: 2}
    with reading(database) as session:
        waiting = session.scalars(sa.select(Operation).where(Operation.state == "retry_scheduled")).all()
        assert {row.attempts for row in waiting} == {1}
        assert {row.next_attempt_at and row.next_attempt_at.second for row in waiting} == {0}
        assert session.scalars(sa.select(DestinationBudget.used)).one() == 3
    assert ledger.claim(database, types=TYPES, policies=BUDGET) == ()


def test_a_compensation_knows_what_it_undoes(database: Database) -> None:
    def unit(session: Session) -> None:
        parent = factories.operation(session, operation_id="charge-1", remote_id="ch_1", expected_version=9)
        factories.operation(session, state="pending", parent_id=parent.id, expected_version=1, type="refund_order")

    transact(database, unit)
    (claimed,) = ledger.claim(database, types={"refund_order"})
    assert claimed.compensates is not None
    assert (claimed.compensates.operation_id, claimed.compensates.remote_id) == ("charge-1", "ch_1")


def test_workers_side_by_side_handle_each_operation_once(database: Database) -> None:
    add(database, 200)
    handled: Counter[str] = Counter()
    handlers = Handlers()

    @handlers.handles(*TYPES)
    def charge(each: Work) -> Confirmed:
        handled[each.operation_id] += 1
        return Confirmed(f"ch_{each.operation_id}")

    def drain(name: str) -> None:
        own = Database(database.url.render_as_string(hide_password=False))
        context = work.Context(Policies(), Actor(ActorKind.WORKER, name), handlers)
        while work.send_due(own, context):
            pass
        own.dispose()

    threads = [threading.Thread(target=drain, args=(f"worker-{number}",)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    # One that another worker has locked may be passed over by the last look of all.
    drain("worker-5")
    assert (len(handled), set(handled.values())) == (200, {1})
    with reading(database) as session:
        assert set(session.scalars(sa.select(Operation.state))) == {"confirmed"}


def test_a_worker_claims_what_it_can_do_in_five_seconds() -> None:
    pace = Pace()
    assert pace.limit(4) == 4
    pace.took(10.0, operations=10, concurrency=1)
    assert pace.limit(1) == 5
    for _ in range(9):
        pace.took(0.01, operations=100, concurrency=1)
    assert pace.limit(1) == 100
