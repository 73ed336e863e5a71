"""Inserting a row that may be there already: no error, no savepoint, and the lock that a change of the row needs.

A plain INSERT that MariaDB and MySQL refuse leaves a shared lock on the row that was there. Two who then want to change
that row wait for each other, and of fifty at once most would use up their retries.
"""

from collections.abc import Mapping
from typing import Any

from sqlalchemy import CursorResult, Insert, Table, func
from sqlalchemy.dialects import mysql, postgresql, sqlite


def insert_once(table: Table, values: Mapping[str, Any], *, dialect: str, unique: tuple[str, ...]) -> Insert:
    """Build an INSERT that changes nothing where a row with the same `unique` columns exists.

    Without RETURNING, which costs more than the rest of it, and without a savepoint, which would end the transaction of
    a host whose SQLite driver begins late. Source: the manuals of MySQL and MariaDB say of LAST_INSERT_ID(expr) that
    the client gets the value of `expr`; the tests run it on MariaDB, and not on MySQL.
    """
    if dialect == "mysql":
        # An id of the row that was inserted, or the 0 that is named here: the count of rows is 1 either way.
        known: Insert = mysql.insert(table).on_duplicate_key_update(id=table.c.id + func.last_insert_id(0))
    else:
        engine: Any = postgresql if dialect == "postgresql" else sqlite
        known = engine.insert(table).on_conflict_do_nothing(index_elements=unique)
    return known.values(values).inline().execution_options(preserve_rowcount=True)


def is_new(result: CursorResult[Any], *, dialect: str) -> bool:
    """Whether the row was inserted, or was there before."""
    return result.lastrowid > 0 if dialect == "mysql" else result.rowcount == 1
