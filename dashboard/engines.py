"""Engines made alike, however they are reached: one driver each, the same isolation, UTC, limits on statements."""

import json
import sqlite3
from collections.abc import Callable
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event, make_url
from sqlalchemy.engine import URL

BUSY_TIMEOUT_MS = 5000
READ_ONLY = {
    "postgresql": "SET default_transaction_read_only = on",
    "mysql": "SET SESSION TRANSACTION READ ONLY",
}


def normalise_url(url: str) -> URL:
    """The URL with the one driver we use for its engine (psycopg, PyMySQL, sqlite3)."""
    parsed = make_url(url)
    name = parsed.get_backend_name()
    if name in {"mysql", "mariadb"}:
        return parsed.set(drivername="mysql+pymysql").update_query_dict({"charset": "utf8mb4"})
    if name in {"postgresql", "postgres"}:
        return parsed.set(drivername="postgresql+psycopg")
    return parsed.set(drivername="sqlite")


def engine_for(url: URL, *, pool_size: int, timeout: int | None, only_reads: bool = False) -> Engine:
    """Make an engine; statements longer than `timeout` seconds end.

    One that `only_reads` refuses to write, and takes each statement for itself (never for SQLite).
    """
    options: dict[str, Any] = {
        "json_serializer": _compact_json,
        # An error is logged with its statement, and the values may be a customer's.
        "hide_parameters": True,
        "pool_pre_ping": url.get_backend_name() != "sqlite",
        "pool_size": pool_size,
        "max_overflow": pool_size,
    }
    if url.get_backend_name() != "sqlite":
        options["isolation_level"] = "AUTOCOMMIT" if only_reads else "READ COMMITTED"
        options["skip_autocommit_rollback"] = only_reads
    engine = create_engine(url, **options)
    if url.get_backend_name() == "sqlite":
        event.listen(engine, "connect", _prepare_sqlite)
        event.listen(engine, "begin", _begin_sqlite)
        return engine
    if timeout:
        event.listen(engine, "connect", _limit_statements(engine.dialect.name, timeout))
    if only_reads:
        event.listen(engine, "connect", _say(READ_ONLY[engine.dialect.name]))
    return engine


def _compact_json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def _prepare_sqlite(connection: sqlite3.Connection, _record: object) -> None:
    connection.isolation_level = None
    for pragma in (
        f"busy_timeout={BUSY_TIMEOUT_MS}",
        "journal_mode=WAL",
        "synchronous=FULL",
        "foreign_keys=ON",
        "recursive_triggers=ON",
    ):
        connection.execute(f"PRAGMA {pragma}")


def _begin_sqlite(connection: Connection) -> None:
    mode = connection.get_execution_options().get("begin", "IMMEDIATE")
    connection.exec_driver_sql(f"BEGIN {mode}")


def _say(statement: str) -> Callable[[Any, object], None]:
    def say(connection: Any, _record: object) -> None:
        with connection.cursor() as cursor:
            cursor.execute(statement)
        connection.commit()

    return say


def _limit_statements(dialect: str, seconds: int) -> Callable[[Any, object], None]:
    def limit(connection: Any, _record: object) -> None:
        version = connection.get_server_info() if dialect == "mysql" else ""
        with connection.cursor() as cursor:
            cursor.execute(statement_limit(dialect, seconds, version=version))
        connection.commit()

    return limit


def statement_limit(dialect: str, seconds: int, *, version: str) -> str:
    """The statement that ends what takes longer; MySQL and MariaDB, told apart by `version`, name it differently."""
    if dialect == "postgresql":
        return f"SET statement_timeout = '{seconds}s'"
    if "MariaDB" in version:
        return f"SET SESSION max_statement_time = {seconds}"
    return f"SET SESSION max_execution_time = {seconds * 1000}"
