"""The database: engines made alike, column types that mean the same on each, and the only commit.

A write is a unit of work: `transact(database, unit)` runs it in one transaction and runs it again,
whole, when the engine asks for that (deadlock, serialization failure, busy). A page reads through
`reading(database)`, which never commits.
"""

import random
import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from functools import cache, cached_property, partial
from typing import Any, TypeVar

import sqlalchemy as sa
from sqlalchemy import Connection, CursorResult, Engine, Select, String, Text, text
from sqlalchemy.dialects import mysql, postgresql
from sqlalchemy.engine import Dialect
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import Session
from sqlalchemy.types import JSON, DateTime, TypeDecorator, TypeEngine

from dashboard.domain.text import check_text
from dashboard.engines import engine_for, normalise_url

T = TypeVar("T")

RETRYABLE_SQLSTATES = frozenset({"40001", "40P01"})
RETRYABLE_ERRNOS = frozenset({1213, 1205, 1020})
ATTEMPTS = 6
FIRST_PAUSE_SECONDS = 0.02
CLOCKS = {
    "postgresql": "clock_timestamp()",
    "mysql": "UTC_TIMESTAMP(6)",
    # In the form in which timestamps are stored there.
    "sqlite": "strftime('%Y-%m-%d %H:%M:%f000', 'now')",
}

_open_units: ContextVar[int] = ContextVar("open_units", default=0)


class InsideTransactionError(RuntimeError):
    """Something was about to wait for the outside while a transaction held its locks."""


class UTCDateTime(TypeDecorator[datetime]):
    """A UTC timestamp with microseconds on every engine; a naive datetime raises ValueError."""

    impl = DateTime
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        if dialect.name == "mysql":
            return dialect.type_descriptor(mysql.DATETIME(fsp=6))
        return dialect.type_descriptor(DateTime(timezone=dialect.name == "postgresql"))

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError("a datetime without a zone cannot be stored")
        value = value.astimezone(UTC)
        return value if dialect.name == "postgresql" else value.replace(tzinfo=None)

    def process_result_value(self, value: datetime | None, _dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


class ExactText(TypeDecorator[str]):
    """Text of at most `length` characters that is compared byte for byte, trailing spaces included."""

    impl = String
    cache_ok = True

    def __init__(self, length: int) -> None:
        super().__init__(length)
        self.length = length

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        length = self.length
        if dialect.name == "postgresql":
            return dialect.type_descriptor(postgresql.VARCHAR(length, collation="C"))
        if dialect.name == "mysql":
            collation = "utf8mb4_nopad_bin" if getattr(dialect, "is_mariadb", False) else "utf8mb4_0900_bin"
            return dialect.type_descriptor(mysql.VARCHAR(length, charset="utf8mb4", collation=collation))
        return dialect.type_descriptor(String(length))

    def process_bind_param(self, value: str | None, _dialect: Dialect) -> str | None:
        if value is None:
            return None
        if len(value) > self.length:
            raise ValueError(f"text of {len(value)} characters where {self.length} are allowed")
        return check_text(value)


class LongText(TypeDecorator[str]):
    """Text of any length, for what is shown and never compared."""

    impl = Text
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        if dialect.name == "mysql":
            return dialect.type_descriptor(mysql.LONGTEXT(charset="utf8mb4"))
        return dialect.type_descriptor(Text())

    def process_bind_param(self, value: str | None, _dialect: Dialect) -> str | None:
        return None if value is None else check_text(value)


JSONColumn = JSON(none_as_null=True)


class Database:
    """An engine and how to reach it; one a process, shared by its threads."""

    def __init__(self, url: str, *, pool_size: int = 5, statement_timeout_seconds: int | None = None) -> None:
        self.url = normalise_url(url)
        self._make = partial(engine_for, self.url, pool_size=pool_size, timeout=statement_timeout_seconds)
        self.engine = self._make()

    @cached_property
    def pages(self) -> Engine:
        """The engine that pages read by, with connections of its own that can write nothing; SQLite needs none."""
        if self.dialect == "sqlite":
            return self.engine.execution_options(begin="DEFERRED")
        return self._make(only_reads=True)

    @property
    def engines(self) -> tuple[Engine, ...]:
        """All that connections come from, for who wants to hear of each statement."""
        return (self.engine,) if self.dialect == "sqlite" else (self.engine, self.pages)

    @property
    def dialect(self) -> str:
        """`sqlite`, `postgresql` or `mysql` (which is MariaDB too)."""
        return self.engine.dialect.name

    def dispose(self) -> None:
        """Close all pooled connections."""
        self.engine.dispose()
        if "pages" in self.__dict__:
            self.pages.dispose()


@contextmanager
def transaction(database: Database) -> Iterator[Session]:
    """One unit of work, committed at its end; the only commit there is."""
    engine = database.engine.execution_options(begin="IMMEDIATE")
    with _counted(), Session(engine, expire_on_commit=False) as session:
        yield session
        session.commit()


def transact(database: Database, unit: Callable[[Session], T]) -> T:
    """Run a unit of work in a transaction, again as a whole while the engine says "retry".

    Raises what the unit raises, and the engine's error once the attempts are used up.
    """
    for attempt in range(1, ATTEMPTS + 1):
        try:
            with transaction(database) as session:
                return unit(session)
        except DBAPIError as error:
            if attempt == ATTEMPTS or not any(is_retryable(each) for each in _with_what_it_hides(error)):
                raise
            pause = FIRST_PAUSE_SECONDS * 2**attempt
            time.sleep(random.uniform(0, pause))  # noqa: S311 - jitter, not a secret
    raise AssertionError("unreachable")


@contextmanager
def reading(database: Database) -> Iterator[Session]:
    """A session for reads: read-only where the engine can enforce it, never committed."""
    options: dict[str, Any] = {"begin": "DEFERRED"}
    if database.dialect == "postgresql":
        options["postgresql_readonly"] = True
    with _counted(), Session(database.engine.execution_options(**options)) as session:
        yield session


@contextmanager
def browsing(connection: Connection) -> Iterator[Session]:
    """A session for pages, on a connection of `Database.pages`: read-only, and on servers each statement by itself.

    At READ COMMITTED a transaction shows no more than that, and to begin and end it takes two answers of the server.
    """
    with _counted(), Session(connection) as session:
        yield session


def rows(
    session: Session, statement: Select[*tuple[Any, ...]], values: Mapping[str, Any] | None = None
) -> CursorResult[*tuple[Any, ...]]:
    """Ask for columns, never for entities, which the ORM need not look at; that is a tenth of a small page."""
    session.flush()
    return session.connection().execute(statement, values)


def assert_outside_transaction() -> None:
    """Call this before anything that waits for the outside; InsideTransactionError where a transaction is open."""
    if _open_units.get():
        raise InsideTransactionError("no network call inside a database transaction")


@contextmanager
def _counted() -> Iterator[None]:
    """Note an open transaction for the length of a block, for this thread alone."""
    mark = _open_units.set(_open_units.get() + 1)
    try:
        yield
    finally:
        _open_units.reset(mark)


def is_retryable(error: DBAPIError) -> bool:
    """Whether the engine asks for the whole unit to be run again; such an error is never an outcome."""
    origin = error.orig
    if isinstance(origin, sqlite3.OperationalError):
        # Errors of the driver itself, such as text that is no UTF-8, have no name.
        return getattr(origin, "sqlite_errorname", "").startswith(("SQLITE_BUSY", "SQLITE_LOCKED"))
    if getattr(origin, "sqlstate", None) in RETRYABLE_SQLSTATES:
        return True
    return bool(origin and origin.args and origin.args[0] in RETRYABLE_ERRNOS)


def _with_what_it_hides(error: DBAPIError) -> Iterator[DBAPIError]:
    """The error, and those in whose wake it was raised: a deadlock on MariaDB also ends the savepoint to go back to."""
    found: BaseException | None = error
    while found is not None:
        if isinstance(found, DBAPIError):
            yield found
        found = found.__context__


def clock(session: Session) -> datetime:
    """The database's own time in UTC, which decides ages, leases and due times."""
    dialect = session.get_bind().dialect.name
    if dialect == "postgresql":
        at: datetime = session.execute(text("SELECT clock_timestamp()")).scalar_one()
        return at.astimezone(UTC)
    if dialect == "mysql":
        naive: datetime = session.execute(text("SELECT UTC_TIMESTAMP(6)")).scalar_one()
        return naive.replace(tzinfo=UTC)
    stamp: str = session.execute(text("SELECT strftime('%Y-%m-%dT%H:%M:%f', 'now')")).scalar_one()
    return datetime.fromisoformat(stamp).replace(tzinfo=UTC)


def clock_column(session: Session) -> sa.ColumnElement[datetime]:
    """The database's own time as a column, for a statement that would otherwise need a second one to ask for it."""
    return _clock_column(session.get_bind().dialect.name)


@cache
def _clock_column(dialect: str) -> sa.ColumnElement[datetime]:
    return sa.type_coerce(sa.literal_column(CLOCKS[dialect]), UTCDateTime)
