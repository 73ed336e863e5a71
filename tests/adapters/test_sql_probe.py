from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from types import MappingProxyType
from typing import Any

import pytest
from sqlalchemy import text

from dashboard.adapters.probes.sql import probe
from dashboard.db import Database
from dashboard.domain.answers import Answer, Question
from dashboard.domain.policy import Destination, ProbeRule

Ask = Callable[..., Answer]
QUERY = "SELECT id, amount, paid_at FROM payments WHERE operation = :operation_id"
SLOW = {
    "sqlite": "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n, payments "
    "WHERE operation = :operation_id",
    "postgresql": "SELECT pg_sleep(20) FROM payments WHERE operation = :operation_id",
    "mysql": "SELECT sleep(20) FROM payments WHERE operation = :operation_id",
}


@pytest.fixture
def ask(empty_database: Database, monkeypatch: pytest.MonkeyPatch) -> Ask:
    """Ask a database that has one payment, of op-1."""
    with empty_database.engine.begin() as connection:
        connection.execute(
            text("CREATE TABLE payments (id INT, operation VARCHAR(40), amount NUMERIC(12,2), paid_at TIMESTAMP NULL)")
        )
        connection.execute(text("INSERT INTO payments VALUES (7, 'op-1', 318.93, '2026-11-30 12:00:00')"))
    monkeypatch.setenv("LEDGER_URL", empty_database.url.render_as_string(hide_password=False))

    def ask(query: str = QUERY, *, operation_id: str = "op-1", **settings: Any) -> Answer:
        rule = ProbeRule("sql", MappingProxyType({"connection_env": "LEDGER_URL", "query": query, **settings}))
        question = Question(operation_id, "shop", "charge_order", "order", "452", datetime.now(UTC))
        return probe(rule, Destination("ledger", timeout=timedelta(seconds=1)), question)

    return ask


def test_each_row_is_a_candidate(ask: Ask) -> None:
    answer = ask(remote_id="id")
    assert (answer.failed, answer.remote_id, str(answer.candidates[0]["amount"])) == (None, "7", "318.93")
    assert str(answer.candidates[0]["paid_at"]).startswith("2026-11-30")


def test_no_row_is_no_candidate(ask: Ask) -> None:
    answer = ask(operation_id="op-2' OR '1'='1")
    assert (answer.failed, answer.candidates, answer.authoritative) == (None, (), True)


def test_a_query_writes_nothing(ask: Ask, empty_database: Database) -> None:
    assert ask("DELETE FROM payments WHERE operation = :operation_id").failed is not None
    with empty_database.engine.connect() as connection:
        assert connection.execute(text("SELECT count(*) FROM payments")).scalar_one() == 1


def test_a_query_that_takes_too_long_is_given_up(ask: Ask, empty_database: Database) -> None:
    answer = ask(SLOW[empty_database.dialect])
    # MariaDB's sleep is cut short and gives a row that says so; every other statement fails.
    assert answer.failed in {"unreachable", "query_failed"} or answer.candidates[0]["sleep(20)"] == 1


def test_a_wrong_query_and_a_missing_connection_are_reasons(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    assert ask("SELECT nothing FROM nowhere WHERE id = :operation_id").failed in {"query_failed", "unreachable"}
    monkeypatch.setenv("LEDGER_URL", "")
    assert ask().failed == "secret_missing"


def test_a_connection_that_is_none_is_a_reason_without_its_secret(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LEDGER_URL", "postgresql://someone:s3cret@127.0.0.1:1/nothing")
    answer = ask()
    assert (answer.failed, "s3cret" in answer.detail) == ("unreachable", False)
    monkeypatch.setenv("LEDGER_URL", "no url at all: s3cret")
    answer = ask()
    assert (answer.failed, "s3cret" in answer.detail) == ("query_failed", False)
