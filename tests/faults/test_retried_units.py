import sqlite3
from typing import Any

import psycopg
import pymysql
import pytest
import sqlalchemy as sa

from dashboard.db import Database
from tests.faults.conftest import Shop


def busy() -> Exception:
    error = sqlite3.OperationalError("database is locked")
    error.sqlite_errorname = "SQLITE_BUSY"
    return error


ERRORS: dict[str, list[Exception]] = {
    "sqlite": [busy()],
    "postgresql": [psycopg.errors.SerializationFailure(), psycopg.errors.DeadlockDetected()],
    "mariadb": [pymysql.err.OperationalError(number, "again") for number in (1213, 1205, 1020)],
}
CASES = [(engine, error) for engine, errors in ERRORS.items() for error in errors]


@pytest.mark.parametrize(("engine_name", "error"), CASES, indirect=["engine_name"])
@pytest.mark.parametrize("at", ["UPDATE operations SET", "INSERT INTO operation_events"])
def test_what_the_engine_asks_to_repeat_is_never_an_outcome(shop: Shop, error: Exception, at: str) -> None:
    """Fault 22: serialization failure, deadlock, lock timeout and BUSY repeat the whole unit."""
    shop.register()
    own = Shop(Database(shop.database.url.render_as_string(hide_password=False)))
    injected: list[str] = []

    def inject(_connection: Any, _cursor: Any, statement: str, *_rest: object) -> None:
        if len(injected) < 4 and statement.startswith(at):
            injected.append(statement)
            raise sa.exc.OperationalError(statement, {}, error)

    sa.event.listen(own.database.engine, "before_cursor_execute", inject)
    own.send()
    own.database.dispose()
    assert len(injected) == 4
    assert shop.facts() == (1, "confirmed")
    assert shop.path() == ["pending", "processing", "confirmed"]
    assert shop.row().attempts == 1
