"""The Python door as a host uses it, with an engine and a session of its own."""

from collections.abc import Iterator
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy.orm import Session

from dashboard import ledger
from dashboard.db import Database, reading, transact
from dashboard.ledger import Cause, Confirmed, Failure, NewOperation, Sent, Work
from dashboard.models import Operation, OperationEvent

NEW = NewOperation("op-1", "shop", "charge_order", "order", "452", "payments", {"amount": "10.00"})


@pytest.fixture
def engine(database: Database) -> Iterator[sa.Engine]:
    """The host's own engine, with the defaults of SQLAlchemy and of the driver."""
    engine = sa.create_engine(database.url)
    yield engine
    engine.dispose()


def stored(database: Database) -> Operation:
    with reading(database) as session:
        return session.scalars(sa.select(Operation)).one()


def count(database: Database, model: type = Operation) -> int:
    with reading(database) as session:
        return session.scalar(sa.select(sa.func.count()).select_from(model)) or 0


def claimed(database: Database) -> Work:
    transact(database, lambda session: ledger.register(session, NEW))
    (work,) = ledger.claim(database, types={"charge_order"})
    return work


def test_a_registration_lives_and_dies_with_the_hosts_transaction(database: Database, engine: sa.Engine) -> None:
    with Session(engine) as session:
        ledger.register(session, NEW)
        session.rollback()
    assert count(database) == 0
    with Session(engine) as session:
        assert ledger.register(session, NEW).new
        assert not ledger.register(session, NEW).new
        session.commit()
    assert (count(database), count(database, OperationEvent)) == (1, 1)


def test_a_connection_is_a_door_too_and_the_host_commits_it(database: Database, engine: sa.Engine) -> None:
    with engine.connect() as connection:
        ledger.register(connection, NEW)
        connection.rollback()
        ledger.register(connection, NEW)
        connection.commit()
    assert count(database) == 1


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"operation_id": "op 1"}, "operation_id"),
        ({"tenant": ""}, "tenant"),
        ({"type": "x" * 65}, "type"),
        ({"entity_id": "a\0b"}, "entity_id"),
        ({"entity_id": "\ud800"}, "entity_id"),
        ({"amount": "1e3", "currency": "EUR"}, "amount"),
        ({"amount": "10.00"}, "currency"),
        ({"expected": {"at": object()}}, "expected"),
        ({"expected_version": -1}, "expected_version"),
    ],
)
def test_a_bad_field_is_refused_by_name_before_anything_is_written(
    sqlite_database: Database, change: dict[str, Any], field: str
) -> None:
    fields = {**vars(NEW), **change}
    with pytest.raises(ledger.InvalidInputError) as refused:
        transact(sqlite_database, lambda session: ledger.register(session, NewOperation(**fields)))
    assert field in [problem.field for problem in refused.value.problems]
    assert count(sqlite_database) == 0


def test_only_what_nobody_began_can_be_withdrawn(database: Database) -> None:
    transact(database, lambda session: ledger.register(session, NEW))
    transact(database, lambda session: ledger.withdraw(session, "op-1", reason="The order was cancelled."))
    assert (stored(database).state, stored(database).closed_reason) == ("not_applicable", "cancelled")
    with pytest.raises(ledger.TransitionError):
        transact(database, lambda session: ledger.withdraw(session, "op-1", reason="Again."))


def test_an_outcome_is_recorded_in_the_hosts_transaction(database: Database, engine: sa.Engine) -> None:
    work = claimed(database)
    with engine.connect() as connection:
        ledger.confirm(connection, work, Confirmed("ch_1", {"authorization": "Bearer abc", "status": "paid"}))
        connection.rollback()
        assert stored(database).state == "processing"
        ledger.confirm(connection, work, Confirmed("ch_1", {"authorization": "Bearer abc", "status": "paid"}))
        connection.commit()
    row = stored(database)
    assert (row.state, row.remote_id, row.lease_token) == ("confirmed", "ch_1", None)
    assert row.confirmed_at is not None
    with reading(database) as session:
        last = session.scalars(sa.select(OperationEvent).order_by(OperationEvent.seq.desc())).first()
    assert last is not None
    assert last.evidence == {"remote_id": "ch_1", "authorization": "[redacted]", "status": "paid"}


@pytest.mark.parametrize(
    ("record", "state"),
    [
        (lambda s, w: ledger.confirm(s, w, Confirmed()), "awaiting_confirmation"),
        (lambda s, w: ledger.confirm(s, w, Confirmed("x" * 500)), "confirmed"),
        (lambda s, w: ledger.confirm(s, w, Confirmed("ch\0", {"\0": "\ud800", "n": float("nan")})), "confirmed"),
        (lambda s, w: ledger.confirm(s, w, Confirmed("ch", {"body": "x" * 100_000})), "confirmed"),
        (lambda s, w: ledger.await_confirmation(s, w, Sent("ch_1")), "awaiting_confirmation"),
        (lambda s, w: ledger.record_failure(s, w, Failure(Cause.SENT_UNKNOWN, "a\0b")), "awaiting_confirmation"),
        (lambda s, w: ledger.record_failure(s, w, Failure(Cause.REJECTED, "no")), "manual_review"),
        (lambda s, w: ledger.record_failure(s, w, Failure(Cause.LOCAL_CONFLICT)), "retry_scheduled"),
        (lambda s, w: ledger.schedule_retry(s, w, Failure(Cause.THROTTLED)), "retry_scheduled"),
        (lambda s, w: ledger.send_to_review(s, w, Failure(Cause.PERMANENT)), "manual_review"),
        (lambda s, w: ledger.record_attempt(s, w, Failure(Cause.NOT_SENT)), "processing"),
    ],
)
def test_each_outcome_leads_to_its_state(database: Database, record: Any, state: str) -> None:
    work = claimed(database)
    transact(database, lambda session: record(session, work))
    assert stored(database).state == state
    if state != "processing":
        with pytest.raises(ledger.LostRaceError):
            transact(database, lambda session: record(session, work))


def test_no_retry_without_proof_that_nothing_was_sent(database: Database) -> None:
    work = claimed(database)
    with pytest.raises(ledger.InvalidInputError):
        transact(database, lambda session: ledger.schedule_retry(session, work, Failure(Cause.SENT_UNKNOWN)))
    assert stored(database).state == "processing"


def test_retry_after_is_a_floor(database: Database) -> None:
    work = claimed(database)
    failure = Failure(Cause.THROTTLED, retry_after="3600")
    transact(database, lambda session: ledger.record_failure(session, work, failure))
    row = stored(database)
    assert row.next_attempt_at is not None
    assert (row.next_attempt_at - row.state_since).total_seconds() >= 3600
