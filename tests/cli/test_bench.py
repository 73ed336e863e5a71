"""`dashboard bench` as it is typed: what it counts, and that it never fills a database that is in use."""

import pytest
import sqlalchemy as sa

from dashboard.bench import scratch, workers
from dashboard.db import Database, reading, transact
from dashboard.models import IdempotencyRecord, Operation, OutboxMessage
from tests import factories
from tests.cli.conftest import Run


def test_workers_drain_all_operations_once(ready: Database, run: Run) -> None:
    ended = run("bench", "worker", "--operations", "30", "--workers", "2", "--history", "5")
    assert (ended.status, ended.err) == (0, "")
    assert ended.out.startswith("30 operations in ")
    assert "SQLite" in ended.out
    assert ended.out.endswith("0 operations handled twice, 0 lost.\n")
    with reading(ready) as session:
        rows = session.execute(sa.select(Operation.state, Operation.attempts)).all()
    assert [tuple(row) for row in rows] == [("confirmed", 1)] * 35


def test_a_relay_publishes_all_messages_once(ready: Database, run: Run) -> None:
    ended = run("bench", "relay", "--messages", "30", "--history", "5")
    assert (ended.status, ended.err) == (0, "")
    assert ended.out.startswith("30 messages in ")
    assert ended.out.endswith("0 messages handled twice, 0 lost.\n")
    with reading(ready) as session:
        assert list(session.scalars(sa.select(OutboxMessage.state))) == ["published"] * 35


@pytest.mark.parametrize("command", ["worker", "relay", "idempotency"])
@pytest.mark.parametrize("options", [(), ("--scratch",)])
def test_a_database_in_use_is_refused(ready: Database, run: Run, command: str, options: tuple[str, ...]) -> None:
    transact(ready, factories.operation)
    ended = run("bench", command, *options)
    assert (ended.status, ended.out) == (2, "")
    assert "is not empty" in ended.err
    with reading(ready) as session:
        assert session.scalar(sa.select(sa.func.count(Operation.id))) == 1


def test_what_a_benchmark_left_is_filled_again_only_when_told(ready: Database) -> None:
    transact(ready, lambda session: factories.message(session, tenant="bench", state="published"))
    assert not scratch.may_fill(ready, scratch=False)
    assert scratch.may_fill(ready, scratch=True)


def test_workers_that_cannot_begin_leave_all_lost(ready: Database, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "COMMAND", ("worker", "--handlers", "no_such_module:handlers"))
    ended = run("bench", "worker", "--operations", "3", "--workers", "1")
    assert ended.status == 1
    assert ended.out.endswith("0 operations handled twice, 3 lost.\n")
    assert "no_such_module" in ended.err


def test_the_cost_of_a_key_is_measured_beside_a_bare_pair(ready: Database, run: Run) -> None:
    ended = run("bench", "idempotency", "--pairs", "30", "--requests", "5")
    assert (ended.status, ended.err) == (0, "")
    lines = ended.out.splitlines()
    assert [line.split(":")[0] for line in lines] == [
        "A bare INSERT and UPDATE",
        "Reserve and complete",
        "A request without a key",
        "With a new key",
        "With a known key",
        "Engine",
        "Machine",
    ]
    with reading(ready) as session:
        rows = session.execute(sa.select(IdempotencyRecord.state, IdempotencyRecord.replay_count)).all()
    assert len(rows) == 65
    assert sum(replayed for _state, replayed in rows) == 5
    assert {state for state, _replayed in rows} == {"completed"}
