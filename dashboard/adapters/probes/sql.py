"""Ask a database of the destination: one reading query, each row a candidate.

Settings: `connection_env` (the environment variable with the URL), `query` with the binds `:operation_id`, `:entity_id`
and so on, and the expressions of all kinds; `as_of` and `partial` look into `{"rows": [...]}`. The query runs
in a read-only transaction under the destination's time-out.
"""

import os
import sqlite3
import time
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, date, datetime
from decimal import Decimal
from functools import lru_cache
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, text
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.pool import NullPool

from dashboard.adapters.expressions import ExactNumber
from dashboard.adapters.probes.reading import MAX_CANDIDATES, read_answer
from dashboard.domain.answers import Answer, Question, failure
from dashboard.domain.policy import Destination, ProbeRule
from dashboard.engines import normalise_url

ROWS = "rows"
SQLITE_STEPS_BETWEEN_LOOKS = 10_000


def probe(rule: ProbeRule, destination: Destination, question: Question) -> Answer:
    """Run the query; whatever goes wrong is an answer that failed, without the URL in it."""
    variable = str(rule.settings.get("connection_env", ""))
    url = os.environ.get(variable, "").strip()
    if not url:
        return failure("secret_missing", f"The environment variable {variable} is not set.")
    try:
        rows = _rows(_engine(url), rule, destination, question)
    except SQLAlchemyError as error:
        return _failed(error)
    settings = {**rule.settings, "items": ROWS}
    return read_answer(ProbeRule(rule.kind, settings), question, {ROWS: rows}, viewed_at=question.now)


@lru_cache(maxsize=16)
def _engine(url: str) -> Engine:
    return create_engine(normalise_url(url), poolclass=NullPool)


def _rows(engine: Engine, rule: ProbeRule, destination: Destination, question: Question) -> list[dict[str, Any]]:
    seconds = destination.timeout.total_seconds()
    statement = text(str(rule.settings.get("query", "")))
    values = question.placeholders()
    binds = {name: values.get(name) for name in statement.compile().params}
    with engine.connect() as connection:
        _limit(connection, seconds)
        rows = connection.execute(statement, binds).mappings().fetchmany(MAX_CANDIDATES + 1)
        found = [{str(name): _plain(value) for name, value in row.items()} for row in rows]
        connection.rollback()
    return found


def _limit(connection: Connection, seconds: float) -> None:
    """Make the transaction read-only and short, in the way of its engine."""
    match connection.dialect.name:
        case "postgresql":
            connection.exec_driver_sql("SET TRANSACTION READ ONLY")
            connection.exec_driver_sql(f"SET LOCAL statement_timeout = {int(seconds * 1000)}")
        case "mysql":
            _limit_mysql(connection, seconds)
        case "sqlite":
            connection.exec_driver_sql("PRAGMA query_only = ON")
            _limit_sqlite(connection, seconds)


def _limit_mysql(connection: Connection, seconds: float) -> None:
    if getattr(connection.dialect, "is_mariadb", False):
        connection.exec_driver_sql(f"SET SESSION max_statement_time = {seconds}")
    else:
        connection.exec_driver_sql(f"SET SESSION max_execution_time = {int(seconds * 1000)}")
    connection.exec_driver_sql("START TRANSACTION READ ONLY")


def _limit_sqlite(connection: Connection, seconds: float) -> None:
    driver = connection.connection.driver_connection
    until = time.monotonic() + seconds
    if isinstance(driver, sqlite3.Connection):
        driver.set_progress_handler(lambda: int(time.monotonic() > until), SQLITE_STEPS_BETWEEN_LOOKS)


def _plain(value: object) -> object:
    """A value as JSON could hold it; times without a zone are taken for UTC."""
    match value:
        case datetime():
            return (value if value.tzinfo else value.replace(tzinfo=UTC)).astimezone(UTC).isoformat()
        case date():
            return value.isoformat()
        case bytes():
            with suppress(UnicodeDecodeError):
                return value.decode()
            return value.hex()
        case None | bool() | int() | str() | Mapping() | list():
            return value
        case Decimal():
            return ExactNumber(value)
        case float():
            return ExactNumber(repr(value))
    return str(value)


def _failed(error: SQLAlchemyError) -> Answer:
    # The words of drivers hold addresses and statements: the kind of error is enough for people to go on.
    kind = type(getattr(error, "orig", None) or error).__name__
    if kind in {"OperationalError", "InterfaceError"}:
        return failure("unreachable", f"The database could not be asked in time ({kind}).")
    return failure("query_failed", f"The query failed ({kind}).")
