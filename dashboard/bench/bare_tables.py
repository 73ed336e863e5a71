"""Tables as a large load wants them: without triggers, indexes and foreign keys, which come back as they were.

On PostgreSQL and SQLite all of it is one transaction with the load: it is there whole, or nothing has changed. MariaDB
ends a transaction with each change of a table: there only the triggers go, and a load that was ended halfway leaves a
database that is refused from then on.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from sqlalchemy import Connection, text

_FOREIGN_KEYS = """
    SELECT conrelid::regclass::text, quote_ident(conname), pg_get_constraintdef(oid) FROM pg_constraint
    WHERE contype = 'f' AND connamespace = current_schema()::regnamespace ORDER BY conname
"""
_INDEXES = """
    SELECT quote_ident(relname), pg_get_indexdef(pg_class.oid) FROM pg_class
    WHERE relkind = 'i' AND relnamespace = current_schema()::regnamespace
    AND NOT EXISTS (SELECT 1 FROM pg_constraint WHERE conindid = pg_class.oid) ORDER BY pg_class.oid
"""
_TABLES = """
    SELECT DISTINCT tgrelid::regclass::text FROM pg_trigger JOIN pg_class ON pg_class.oid = tgrelid
    WHERE NOT tgisinternal AND relnamespace = current_schema()::regnamespace
"""
# Of two indexes that would do SQLite takes the one that was made later, so they are made again in the same order.
_SQLITE_PARTS = (
    "SELECT type, name, sql FROM sqlite_master WHERE type IN ('trigger', 'index') AND sql IS NOT NULL ORDER BY rowid"
)


class HalfFilledError(RuntimeError):
    """The triggers of the tables are missing: a load was ended halfway."""


@contextmanager
def bare_tables(connection: Connection) -> Iterator[None]:
    """Take off what slows a load for the length of a block, and put it on again; HalfFilledError without it."""
    way = {"postgresql": _postgresql, "sqlite": _sqlite, "mysql": _mariadb}[connection.dialect.name]
    with way(connection):
        yield


@contextmanager
def _postgresql(connection: Connection) -> Iterator[None]:
    keys = connection.execute(text(_FOREIGN_KEYS)).all()
    indexes = connection.execute(text(_INDEXES)).all()
    tables = connection.scalars(text(_TABLES)).all()
    _run(connection, ["SET LOCAL timezone = 'UTC'", "SET LOCAL maintenance_work_mem = '512MB'"])
    _run(connection, [f"ALTER TABLE {table} DISABLE TRIGGER USER" for table in tables])
    _run(connection, [f"ALTER TABLE {table} DROP CONSTRAINT {name}" for table, name, _ in keys])
    _run(connection, [f"DROP INDEX {name}" for name, _ in indexes])
    yield
    _run(connection, [definition for _, definition in indexes])
    _run(connection, [f"ALTER TABLE {table} ADD CONSTRAINT {name} {definition}" for table, name, definition in keys])
    _run(connection, [f"ALTER TABLE {table} ENABLE TRIGGER USER" for table in tables])


@contextmanager
def _sqlite(connection: Connection) -> Iterator[None]:
    parts = connection.execute(text(_SQLITE_PARTS)).all()
    _run(connection, ["PRAGMA defer_foreign_keys = ON", "PRAGMA cache_size = -500000"])
    _run(connection, [f'DROP {part.type} "{part.name}"' for part in parts])
    yield
    _run(connection, [part.sql for part in parts])


@contextmanager
def _mariadb(connection: Connection) -> Iterator[None]:
    names = connection.scalars(text("SELECT trigger_name FROM information_schema.triggers WHERE "
                                    "trigger_schema = database() ORDER BY trigger_name")).all()  # fmt: skip
    if not names:
        raise HalfFilledError
    made = [connection.execute(text(f"SHOW CREATE TRIGGER {name}")).one()[2] for name in names]
    _run(connection, ["SET SESSION foreign_key_checks = 0", "SET SESSION unique_checks = 0"])
    _run(connection, [f"DROP TRIGGER {name}" for name in names])
    try:
        yield
    finally:
        _run(connection, made)
        _run(connection, ["SET SESSION foreign_key_checks = 1", "SET SESSION unique_checks = 1"])


def _run(connection: Connection, statements: Sequence[str]) -> None:
    for statement in statements:
        connection.exec_driver_sql(statement)
