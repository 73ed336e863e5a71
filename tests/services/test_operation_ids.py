"""What a host's INSERT may name an operation: the database takes exactly what the product's addresses can hold."""

import pytest
import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError

from dashboard.db import Database, reading, transaction
from dashboard.domain.text import is_operation_id
from dashboard.models import Operation
from tests import factories

GOOD = ("a", "7", "op-452", "Charge:2026.11_30~compensation-1", "a-", "x" * 128)
NEEDED = "tenant, type, entity_type, entity_id, destination, state, deadline_at, created_at, state_since, updated_at"
BAD = (
    "",
    "-a",
    ".a",
    "~",
    "a/b",
    "a b",
    " a",
    "a ",
    "a\n",
    "\na",
    "a\tb",
    "é",
    "a%b",
    "a[b",
    "a]",
    "a^",
    "a\\b",
    "x" * 129,
)


def insert(database: Database, operation_id: str) -> None:
    """Copy a good row under another id by plain SQL, as a host does."""
    copy = (
        f"INSERT INTO operations (operation_id, {NEEDED}) "  # noqa: S608 - names of our own
        f"SELECT :id, {NEEDED} FROM operations WHERE operation_id = 'good'"
    )
    with database.engine.begin() as connection:
        connection.execute(sa.text(copy), {"id": operation_id})


@pytest.fixture
def filled(database: Database) -> Database:
    with transaction(database) as session:
        factories.operation(session, operation_id="good")
    return database


def stored(database: Database) -> set[str]:
    with reading(database) as session:
        return set(session.scalars(sa.select(Operation.operation_id))) - {"good"}


def test_ids_that_an_address_can_hold_are_taken(filled: Database) -> None:
    for operation_id in GOOD:
        assert is_operation_id(operation_id)
        insert(filled, operation_id)
    assert stored(filled) == set(GOOD)


def test_other_ids_are_refused(filled: Database) -> None:
    for operation_id in BAD:
        assert not is_operation_id(operation_id)
        with pytest.raises(DBAPIError):
            insert(filled, operation_id)
    assert stored(filled) == set()


def test_an_id_that_goes_on_behind_a_nul_is_refused(sqlite_database: Database) -> None:
    with transaction(sqlite_database) as session:
        factories.operation(session, operation_id="good")
    with pytest.raises(DBAPIError):
        insert(sqlite_database, "a\0/b")
