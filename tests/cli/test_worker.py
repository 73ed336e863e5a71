import sys
from pathlib import Path

import pytest
import sqlalchemy as sa

from dashboard import ledger
from dashboard.db import Database, reading, transact
from dashboard.models import Operation, OutboxMessage
from tests.cli.conftest import Run

HOST = """
from dashboard.ledger import Confirmed, Handlers

handlers = Handlers()


@handlers.handles("charge_order")
def charge(work):
    return Confirmed("ch_1")
"""
NEW = ledger.NewOperation("op-1", "shop", "charge_order", "order", "452", "payments")


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    (tmp_path / "own_shop.py").write_text(HOST)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "own_shop", raising=False)
    return "own_shop:handlers"


def test_a_worker_sends_what_is_due_and_exits(ready: Database, run: Run, host: str) -> None:
    transact(ready, lambda session: ledger.register(session, NEW))
    ended = run("worker", "--once", "--handlers", host)
    # What went well is in the history, and nowhere else.
    assert (ended.status, ended.err) == (0, "")
    assert "sending charge_order" in ended.out
    with reading(ready) as session:
        assert session.scalars(sa.select(Operation.state)).one() == "confirmed"


def test_without_handlers_nothing_is_sent(ready: Database, run: Run) -> None:
    transact(ready, lambda session: ledger.register(session, NEW))
    assert run("worker", "--once").status == 0
    with reading(ready) as session:
        assert session.scalars(sa.select(Operation.state)).one() == "pending"


@pytest.mark.parametrize("name", ["no_such_module:handlers", "own_shop:none", "own_shop:charge", "own_shop", ":"])
def test_handlers_that_are_none_are_told(ready: Database, run: Run, host: str, name: str) -> None:
    ended = run("worker", "--once", "--handlers", name)
    assert ended.status == 2
    assert ended.err.startswith("Error: --handlers: Name them as module:registry")


def test_a_message_is_registered_with_its_operation(ready: Database) -> None:
    message = ledger.Message("orders", "order.charged", "order-452", {"order": "452"})
    transact(ready, lambda session: ledger.register(session, NEW, message=message))
    transact(ready, lambda session: ledger.register(session, NEW, message=message))
    with reading(ready) as session:
        stored = session.scalars(sa.select(OutboxMessage)).one()
        assert (stored.sink, stored.topic, stored.operation_id) == ("orders", "order.charged", 1)
