"""Migrations go up and down on every engine and give the tables that the models describe."""

import sqlite3

import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext

from dashboard.db import Database
from dashboard.models import Record
from dashboard.services import schema


def test_up_down_and_up_again_from_empty(empty_database: Database) -> None:
    schema.upgrade(empty_database)
    assert schema.current(empty_database) == schema.head()
    schema.downgrade(empty_database)
    assert set(sa.inspect(empty_database.engine).get_table_names()) <= {"schema_version"}
    schema.upgrade(empty_database)
    assert schema.current(empty_database) == schema.head()


def test_upgrade_twice_changes_nothing(database: Database) -> None:
    schema.upgrade(database)
    assert schema.current(database) == schema.head()


def test_models_and_migrations_agree(database: Database) -> None:
    with database.engine.connect() as connection:
        context = MigrationContext.configure(
            connection,
            opts={"version_table": schema.VERSION_TABLE, "include_object": _tables_and_columns, "compare_type": False},
        )
        differences = compare_metadata(context, Record.metadata)
    assert differences == []


def _tables_and_columns(_object: object, name: str | None, kind: str, *_rest: object) -> bool:
    return kind in {"table", "column"} and name != schema.VERSION_TABLE


def test_where_a_database_stands_is_told_while_somebody_writes(sqlite_database: Database) -> None:
    writer = sqlite3.connect(str(sqlite_database.url.database), isolation_level=None)
    writer.execute("BEGIN IMMEDIATE")
    sa.event.listen(sqlite_database.engine, "connect", lambda own, _record: own.execute("PRAGMA busy_timeout=0"))
    sqlite_database.dispose()
    assert schema.current(sqlite_database) == schema.head()
    writer.close()
