"""What the database does to us while a key is reserved or its outcome recorded, and that the work is done once."""

import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
import sqlalchemy as sa
from sqlalchemy.orm import Session

from dashboard.db import Database
from dashboard.domain.reservations import Outcome, Owned
from dashboard.idempotency import Idempotency
from dashboard.services import reservations, schema
from tests import servers
from tests.conftest import create_database
from tests.faults import host
from tests.faults.key_host import ADDRESS, KEY, ORDER, client
from tests.faults.keyed import effects_in, facts
from tests.faults.test_broken_connections import end_connection_once
from tests.faults.test_retried_units import CASES
from tests.services.reserving import PAID, conflicts, own, record, records, request

SERVERS = pytest.mark.parametrize("engine_name", ["postgresql", "mariadb"], indirect=True)
INSERT, UPDATE = "INSERT INTO idempotency_records", "UPDATE idempotency_records"


@pytest.fixture(autouse=True)
def _counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    effects_in(tmp_path, monkeypatch)


@pytest.fixture
def own_database(database: Database) -> Iterator[Database]:
    """The same database through an engine of the test's own, which it may spoil."""
    spoiled = Database(database.url.render_as_string(hide_password=False))
    yield spoiled
    spoiled.dispose()


def post(database: Database, body: object = ORDER) -> Any:
    return client(database).post(ADDRESS, json=body, headers=KEY)


def test_other_content_while_the_first_is_at_work_has_no_effect(database: Database) -> None:
    """Fault 5: 409, and the record is as it was."""
    own(database)
    before = record(database)
    assert post(database).status_code == 409
    after = record(database)
    assert (after.state, after.owner_token, after.lease_until) == ("processing", before.owner_token, before.lease_until)
    assert (facts(database), len(conflicts(database))) == ((0, ["processing"]), 1)


@SERVERS
@pytest.mark.parametrize("at", [INSERT, UPDATE])
def test_a_connection_that_the_server_ends_costs_nothing(own_database: Database, at: str) -> None:
    """Fault 20: while reserving, and while recording the outcome."""
    ended = end_connection_once(own_database, at=at)
    assert [post(own_database).status_code for _ in range(2)] == [201, 201]
    assert ended
    assert facts(own_database) == (1, ["completed"])


@SERVERS
def test_a_server_that_restarts_loses_no_key(engine_name: str) -> None:
    """Fault 20: nothing is done while it is away, and one effect afterwards."""
    starting = servers.restartable_postgresql if engine_name == "postgresql" else servers.restartable_mariadb
    with starting() as server:
        database = Database(create_database(server.url, "restarted_keys"))
        schema.upgrade(database)
        server.stop()
        assert (post(database).status_code, host.effects()) == (503, [])
        server.start()
        assert [post(database).status_code for _ in range(2)] == [201, 201]
        assert facts(database) == (1, ["completed"])
        database.dispose()


@pytest.mark.parametrize("held", [True, False])
@pytest.mark.parametrize("nth", [1, 2])
def test_a_connection_cut_during_commit_makes_no_second_record(own_database: Database, nth: int, *, held: bool) -> None:
    """Fault 21: the key is read first, and inserted again only where the COMMIT did not hold."""
    inserts = statements(own_database, INSERT)
    cut_at_commit(own_database, nth=nth, held=held)
    assert post(own_database).status_code == 201
    assert facts(own_database) == (1, ["completed"])
    assert len(inserts) == (2 if nth == 1 and not held else 1)
    assert post(own_database).headers["Idempotent-Replayed"] == "true"


@pytest.mark.parametrize(("engine_name", "error"), CASES, indirect=["engine_name"])
@pytest.mark.parametrize("at", [INSERT, UPDATE])
def test_what_the_engine_asks_to_repeat_is_never_an_answer(own_database: Database, error: Exception, at: str) -> None:
    """Fault 22: serialization failure, deadlock, lock timeout and BUSY repeat the whole unit."""
    injected: list[str] = []

    def inject(_connection: Any, _cursor: Any, statement: str, *_rest: object) -> None:
        if len(injected) < 4 and statement.startswith(at):
            injected.append(statement)
            raise sa.exc.OperationalError(statement, {}, error)

    sa.event.listen(own_database.engine, "before_cursor_execute", inject)
    assert post(own_database).status_code == 201
    assert (len(injected), facts(own_database)) == (4, (1, ["completed"]))


def test_three_inserts_of_one_key_have_one_owner_if_the_first_rolls_back(database: Database) -> None:
    """Fault 23: on MariaDB the other two hold a shared lock each, and one of them is chosen as a victim."""
    door = Idempotency(database, b"of a test")
    found: list[Outcome] = []
    with Session(database.engine) as first:
        assert isinstance(reservations.reserve(first, request()), Owned)
        threads = [threading.Thread(target=lambda: found.append(door.reserve(request()))) for _ in range(2)]
        for thread in threads:
            thread.start()
        threads[0].join(0.5)
        first.rollback()
        for thread in threads:
            thread.join()
    assert sorted(type(each).__name__ for each in found) == ["Owned", "Unfinished"]
    (owner,) = (each for each in found if isinstance(each, Owned))
    door.complete(owner, PAID)
    assert [row.state for row in records(database)] == ["completed"]


def test_a_database_that_takes_no_writes_fails_closed(own_database: Database) -> None:
    """Fault 33: read-only. SQLite also with a full disk."""
    refuse_writes(own_database)
    answer = post(own_database)
    assert answer.json is not None
    assert (answer.status_code, answer.json["code"], answer.headers["Retry-After"]) == (
        503,
        "idempotency_unavailable",
        "5",
    )
    assert facts(own_database) == (0, [])


def test_a_full_disk_fails_closed(sqlite_database: Database) -> None:
    """Fault 33: whatever else there is room for, the key finds none."""
    full_for(sqlite_database, at=INSERT)
    answer = post(sqlite_database)
    assert (answer.status_code, facts(sqlite_database)) == (503, (0, []))


def test_a_database_that_is_lost_after_the_effect_costs_no_answer(own_database: Database) -> None:
    """The outcome cannot be recorded: the answer is true all the same, and the key stays held until it is pending."""

    def lose(_connection: Any, _cursor: Any, statement: str, *_rest: object) -> None:
        if statement.startswith(UPDATE):
            raise sa.exc.OperationalError(statement, {}, psycopg.OperationalError("gone"))

    sa.event.listen(own_database.engine, "before_cursor_execute", lose)
    assert post(own_database).status_code == 201
    assert facts(own_database) == (1, ["processing"])
    assert post(own_database).status_code == 202


def full_for(database: Database, *, at: str) -> None:
    """Let the disk be full from the first statement that begins like this."""

    def fill(connection: sa.Connection, cursor: Any, statement: str, *_rest: object) -> None:
        if not statement.startswith(at):
            return
        try:
            cursor.connection.execute("PRAGMA max_page_count=1")
            # Every page that is left is used up, and what SQLite says then is what the reservation meets.
            cursor.connection.execute("CREATE TABLE filling AS SELECT zeroblob(100000)")
        except sqlite3.OperationalError as error:
            raise sa.exc.OperationalError(statement, {}, error) from error

    sa.event.listen(database.engine, "before_cursor_execute", fill)


def statements(database: Database, start: str) -> list[str]:
    """The statements that begin like this, as they come."""
    seen: list[str] = []

    def note(_connection: Any, _cursor: Any, statement: str, *_rest: object) -> None:
        if statement.startswith(start):
            seen.append(statement)

    sa.event.listen(database.engine, "before_cursor_execute", note)
    return seen


def cut_at_commit(database: Database, *, nth: int, held: bool) -> None:
    """Lose the connection in its n-th COMMIT from now, after the server took it or before."""
    commits: list[int] = []

    def cut(connection: sa.Connection) -> None:
        commits.append(1)
        if len(commits) != nth:
            return
        # Our SQLite connections leave BEGIN and COMMIT to us.
        connection.exec_driver_sql("COMMIT" if held else "ROLLBACK")
        raise sa.exc.OperationalError("COMMIT", {}, Exception("connection lost"), connection_invalidated=True)

    sa.event.listen(database.engine, "commit", cut)


def refuse_writes(database: Database) -> None:
    """Make every new connection one that may only read."""
    words = {
        "sqlite": "PRAGMA query_only=ON",
        "postgresql": "SET default_transaction_read_only = on",
        "mysql": "SET SESSION TRANSACTION READ ONLY",
    }[database.dialect]

    def refuse(connection: Any, _record: object) -> None:
        cursor = connection.cursor()
        cursor.execute(words)
        cursor.close()
        connection.commit()

    database.dispose()
    sa.event.listen(database.engine, "connect", refuse)
