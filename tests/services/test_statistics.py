"""SQLite gets the statistics that servers make by themselves."""

import sqlalchemy as sa

from dashboard.db import Database, reading, transaction
from dashboard.services import statistics
from tests.factories import operation


def test_sqlite_knows_its_indexes_after_a_look(sqlite_database: Database) -> None:
    with transaction(sqlite_database) as session:
        operation(session)
    statistics.refresh(sqlite_database)
    with reading(sqlite_database) as session:
        known = set(session.scalars(sa.text("SELECT idx FROM sqlite_stat1 WHERE tbl = 'operations'")))
    assert "ix_operations_open_type" in known


def test_there_is_never_more_to_do(database: Database) -> None:
    assert statistics.refresh(database) is False
