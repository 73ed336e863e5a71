"""What all tests share: a migrated database of each engine, and a clock that stands still."""

import shutil
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import count
from pathlib import Path

import pytest
import sqlalchemy as sa

from dashboard.db import Database
from dashboard.services import schema
from tests import servers

ENGINES = ("sqlite", "postgresql", "mariadb")
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
def postgresql_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A PostgreSQL server with a migrated database named `template`."""
    with servers.postgresql(tmp_path_factory.mktemp("pg")) as url:
        _execute(f"{url}/postgres", "CREATE DATABASE template")
        database = Database(f"{url}/template")
        schema.upgrade(database)
        database.dispose()
        yield url


@pytest.fixture(scope="session")
def mariadb_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A MariaDB server."""
    with servers.mariadb(tmp_path_factory.mktemp("my")) as url:
        yield url


@pytest.fixture
def sqlite_database(sqlite_template: Path, tmp_path: Path) -> Iterator[Database]:
    """A migrated, empty SQLite database of the test's own."""
    path = tmp_path / "test.sqlite3"
    shutil.copy(sqlite_template, path)
    database = Database(f"sqlite:///{path}")
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
        server: str = request.getfixturevalue(f"{engine_name}_url")
        name = f"empty{next(_numbers)}"
        url = f"{server}/{name}"
        if engine_name == "postgresql":
            _execute(f"{server}/postgres", f"CREATE DATABASE {name}")
        else:
            _execute(server, f"CREATE DATABASE {name} CHARACTER SET utf8mb4")
    database = Database(url)
    yield database
    database.dispose()


@pytest.fixture
def database(engine_name: str, request: pytest.FixtureRequest) -> Iterator[Database]:
    """A migrated, empty database of the test's own, on each engine in turn."""
    if engine_name == "sqlite":
        yield request.getfixturevalue("sqlite_database")
        return
    if engine_name == "mariadb":
        fresh: Database = request.getfixturevalue("empty_database")
        schema.upgrade(fresh)
        yield fresh
        return
    server: str = request.getfixturevalue("postgresql_url")
    name = f"test{next(_numbers)}"
    _execute(f"{server}/postgres", f"CREATE DATABASE {name} TEMPLATE template")
    database = Database(f"{server}/{name}")
    yield database
    database.dispose()


@pytest.fixture
def now() -> datetime:
    """A fixed moment with microseconds."""
    return datetime(2026, 11, 30, 12, 0, 0, 123457, tzinfo=UTC)


def _execute(url: str, statement: str) -> None:
    """Run one statement outside any transaction."""
    engine = Database(url).engine.execution_options(isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.execute(sa.text(statement))
    engine.dispose()
