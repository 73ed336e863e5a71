"""The table as a sink: the documented statements give each key's oldest message, and mark it once."""

from datetime import UTC, datetime

from sqlalchemy import text
from sqlalchemy.orm import Session

from dashboard.adapters.sinks.table import DONE, TAKE
from dashboard.db import Database, reading, transact
from tests import factories
from tests.architecture.tree import ROOT


def taken(database: Database) -> list[str]:
    with reading(database) as session:
        return [row.message_id for row in session.execute(text(TAKE), {"sink": "polled"})]


def mark(database: Database, message_id: str) -> int:
    values = {"message_id": message_id, "now": datetime.now(UTC).replace(tzinfo=None)}
    return transact(database, lambda session: session.connection().execute(text(DONE), values).rowcount)


def test_a_host_that_polls_gets_each_key_in_order(database: Database) -> None:
    def unit(session: Session) -> list[str]:
        keys = ("a", "b", "a", "blocked", "blocked")
        states = ("pending", "pending", "pending", "dead", "pending")
        return [
            factories.message(session, sink="polled", aggregate_key=key, state=state).message_id
            for key, state in zip(keys, states, strict=True)
        ]

    ids = transact(database, unit)
    assert taken(database) == [ids[0], ids[1]]
    assert [mark(database, ids[0]), mark(database, ids[0])] == [1, 0]
    assert taken(database) == [ids[1], ids[2]]


def test_the_document_shows_the_same_statements() -> None:
    document = (ROOT / "docs" / "outbox.md").read_text(encoding="utf-8")
    assert TAKE.strip() in document
    assert DONE.strip() in document
