"""What all tests share: a migrated database of each engine, and a clock that stands still."""

import shutil
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import count
from pathlib import Path

import pytest
import sqlalchemy as sa
from sqlalchemy import event

from dashboard.db import Database
from dashboard.models import Record
from dashboard.services import schema
from tests import servers

pytest_plugins = ["tests.reconciling"]

ENGINES = ("sqlite", "postgresql", "mariadb")
# Tables whose one row the migration made.
KEPT = ("rollup_state", "alert_evaluations")
_numbers = count(1)


@pytest.fixture(scope="session")
def sqlite_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A migrated SQLite file to copy from."""
    path = tmp_path_factory.mktemp("sqlite") / "template.sqlite3"
    database = Database(f"sqlite:///{path}")
    schema.upgrade(database)
    database.dispose()
    return path


@pytest.fixture(scope="session")
def postgresql_url() -> Iterator[str]:
    """A PostgreSQL server."""
    with servers.postgresql() as url:
        yield url


@pytest.fixture(scope="session")
def mariadb_url() -> Iterator[str]:
    """A MariaDB server."""
    with servers.mariadb() as url:
        yield url


@pytest.fixture(scope="session")
def postgresql_database(postgresql_url: str) -> Iterator[Database]:
    """A migrated PostgreSQL database that the tests of this process use in turn."""
    yield from _migrated(create_database(postgresql_url, "tests"))


@pytest.fixture(scope="session")
def mariadb_database(mariadb_url: str) -> Iterator[Database]:
    """A migrated MariaDB database that the tests of this process use in turn."""
    yield from _migrated(create_database(mariadb_url, "tests"))


@pytest.fixture
def sqlite_database(sqlite_template: Path, tmp_path: Path) -> Iterator[Database]:
    """A migrated, empty SQLite database of the test's own."""
    path = tmp_path / "test.sqlite3"
    shutil.copy(sqlite_template, path)
    database = Database(f"sqlite:///{path}")
    # A test's file need not survive the machine, and waiting for the disk is most of what a commit takes.
    event.listen(database.engine, "connect", lambda connection, _record: connection.execute("PRAGMA synchronous=OFF"))
    yield database
    database.dispose()


@pytest.fixture(params=ENGINES)
def engine_name(request: pytest.FixtureRequest) -> str:
    """Each engine in turn."""
    name: str = request.param
    return name


@pytest.fixture
def empty_database(engine_name: str, request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Database]:
    """A database without any table, on each engine in turn."""
    if engine_name == "sqlite":
        url = f"sqlite:///{tmp_path}/empty.sqlite3"
    else:
        url = create_database(request.getfixturevalue(f"{engine_name}_url"), f"empty{next(_numbers)}")
    database = Database(url)
    yield database
    database.dispose()


@pytest.fixture
def database(engine_name: str, request: pytest.FixtureRequest) -> Database:
    """A migrated, empty database, on each engine in turn."""
    database: Database = request.getfixturevalue(f"{engine_name}_database")
    if engine_name != "sqlite":
        _empty(database)
    return database


@pytest.fixture
def now() -> datetime:
    """A fixed moment with microseconds."""
    return datetime(2026, 11, 30, 12, 0, 0, 123457, tzinfo=UTC)


def create_database(server: str, name: str) -> str:
    """Make a database on a server and return its URL."""
    maintenance = f"{server}/postgres" if server.startswith("postgresql") else server
    options = "" if server.startswith("postgresql") else "CHARACTER SET utf8mb4"
    engine = Database(maintenance).engine.execution_options(isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.execute(sa.text(f"CREATE DATABASE {name} {options}"))
    engine.dispose()
    return f"{server}/{name}"


def _migrated(url: str) -> Iterator[Database]:
    database = Database(url)
    schema.upgrade(database)
    yield database
    database.dispose()


def _empty(database: Database) -> None:
    """Take all rows out of the tables that have any, past the triggers that keep the audit log."""
    names = [table.name for table in Record.metadata.sorted_tables if table.name not in KEPT]
    look = " UNION ALL ".join(f"SELECT '{name}' WHERE EXISTS (SELECT 1 FROM {name})" for name in names)  # noqa: S608
    with database.engine.begin() as connection:
        filled = [row[0] for row in connection.execute(sa.text(look))]
        if database.dialect == "postgresql":
            steps = ["SET LOCAL session_replication_role = replica"]
            steps.append(f"TRUNCATE {', '.join(filled)} RESTART IDENTITY CASCADE")
        else:
            steps = ["SET foreign_key_checks = 0", *(f"TRUNCATE {name}" for name in filled)]
            steps.append("SET foreign_key_checks = 1")
        # The head of the audit log is a row that the migration made; truncating the log takes it along.
        steps += ["DELETE FROM audit_head", "INSERT INTO audit_head (id) VALUES (1)"]
        steps.append(
            "UPDATE rollup_state SET built_at = CURRENT_TIMESTAMP, folded_at = NULL, checked_at = NULL, drifts = 0"
        )
        steps.append("UPDATE alert_evaluations SET evaluated_at = NULL, unreadable = ''")
        for step in steps:
            connection.execute(sa.text(step))
