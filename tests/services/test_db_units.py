"""A unit of work is run again, whole, when the engine asks for it, and for nothing else."""

import sqlite3
import threading
from collections.abc import Callable

import pytest
import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError, IntegrityError, OperationalError, ProgrammingError
from sqlalchemy.orm import Session

from dashboard.db import ATTEMPTS, Database, is_retryable, reading, transact
from dashboard.engines import statement_limit
from dashboard.models import Operation
from tests import factories

SERVERS = pytest.mark.parametrize("engine_name", ["postgresql", "mariadb"])


def add_two(database: Database) -> tuple[int, int]:
    def unit(session: Session) -> tuple[int, int]:
        return factories.operation(session).id, factories.operation(session).id

    return transact(database, unit)


def attempts_of(database: Database) -> list[int]:
    with reading(database) as session:
        return list(session.scalars(sa.select(Operation.attempts).order_by(Operation.id)))


def raise_attempts(session: Session, number: int) -> None:
    session.execute(sa.update(Operation).where(Operation.id == number).values(attempts=Operation.attempts + 1))


@SERVERS
def test_a_deadlock_runs_the_loser_s_whole_unit_again(database: Database) -> None:
    first, second = add_two(database)
    both_hold_one = threading.Barrier(2, timeout=30)
    runs: list[int] = []

    def unit(order: tuple[int, int]) -> Callable[[Session], None]:
        def work(session: Session) -> None:
            runs.append(order[0])
            raise_attempts(session, order[0])
            if runs.count(order[0]) == 1:
                both_hold_one.wait()
            raise_attempts(session, order[1])

        return work

    in_threads(lambda: transact(database, unit((first, second))), lambda: transact(database, unit((second, first))))
    assert attempts_of(database) == [3, 3]
    assert len(runs) > 2


@SERVERS
def test_a_deadlock_inside_a_savepoint_runs_the_loser_s_whole_unit_again(database: Database) -> None:
    first, second = add_two(database)
    both_hold_one = threading.Barrier(2, timeout=30)
    runs: list[int] = []

    def unit(order: tuple[int, int]) -> Callable[[Session], None]:
        def work(session: Session) -> None:
            runs.append(order[0])
            with session.begin_nested():
                raise_attempts(session, order[0])
                if runs.count(order[0]) == 1:
                    both_hold_one.wait()
                raise_attempts(session, order[1])

        return work

    in_threads(lambda: transact(database, unit((first, second))), lambda: transact(database, unit((second, first))))
    assert attempts_of(database) == [3, 3]


@SERVERS
def test_a_serialization_failure_runs_the_unit_again(database: Database) -> None:
    number, _ = add_two(database)
    runs: list[int] = []

    def unit(session: Session) -> None:
        runs.append(number)
        if database.dialect == "postgresql":
            session.connection(execution_options={"isolation_level": "REPEATABLE READ"})
        else:
            session.execute(sa.text("SET SESSION innodb_lock_wait_timeout = 1"))
        session.execute(sa.select(Operation.attempts)).all()
        if len(runs) == 1:
            somebody_else_changes(database, number)
        raise_attempts(session, number)

    transact(database, unit)
    assert attempts_of(database)[0] == 3
    assert len(runs) == (2 if database.dialect == "postgresql" else 1)


def somebody_else_changes(database: Database, number: int) -> None:
    in_threads(lambda: transact(database, lambda session: raise_attempts(session, number)))


@pytest.mark.parametrize("engine_name", ["mariadb"])
def test_a_lock_waited_for_in_vain_runs_the_unit_again(database: Database) -> None:
    number, _ = add_two(database)
    runs: list[int] = []
    with database.engine.connect() as holder:
        holder.execute(sa.select(Operation.id).where(Operation.id == number).with_for_update())

        def unit(session: Session) -> None:
            runs.append(number)
            session.execute(sa.text("SET SESSION innodb_lock_wait_timeout = 1"))
            if len(runs) == 2:
                holder.rollback()
            raise_attempts(session, number)

        transact(database, unit)
    assert (len(runs), attempts_of(database)[0]) == (2, 2)


def test_a_busy_database_is_waited_for(sqlite_database: Database) -> None:
    number, _ = add_two(sqlite_database)
    other = sqlite3.connect(str(sqlite_database.url.database), isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    busy: list[BaseException | None] = []

    def on_error(context: sa.engine.ExceptionContext) -> None:
        busy.append(context.original_exception)
        other.execute("ROLLBACK")

    impatient(sqlite_database)
    sa.event.listen(sqlite_database.engine, "handle_error", on_error)
    transact(sqlite_database, lambda session: raise_attempts(session, number))
    other.close()
    assert [getattr(error, "sqlite_errorname", "") for error in busy] == ["SQLITE_BUSY"]
    assert attempts_of(sqlite_database)[0] == 2


def test_a_database_that_stays_busy_is_an_error_in_the_end(sqlite_database: Database) -> None:
    number, _ = add_two(sqlite_database)
    other = sqlite3.connect(str(sqlite_database.url.database), isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    tries: list[object] = []
    impatient(sqlite_database)
    sa.event.listen(sqlite_database.engine, "handle_error", tries.append)
    with pytest.raises(OperationalError):
        transact(sqlite_database, lambda session: raise_attempts(session, number))
    other.close()
    assert len(tries) == ATTEMPTS


def impatient(database: Database) -> None:
    """Make new connections say at once that the file is busy."""
    sa.event.listen(database.engine, "connect", lambda connection, _record: connection.execute("PRAGMA busy_timeout=0"))
    database.dispose()


@pytest.mark.parametrize(
    ("statement", "error"),
    [
        ("INSERT INTO audit_head (id) VALUES (1)", IntegrityError),
        ("SELECT nothing FROM nowhere", (ProgrammingError, OperationalError)),
        ("UPDATE operations SET state = 'nonsense'", DBAPIError),
    ],
)
def test_other_errors_are_raised_at_once_and_nothing_is_kept(
    database: Database, statement: str, error: type[Exception]
) -> None:
    number, _ = add_two(database)
    runs: list[int] = []

    def unit(session: Session) -> None:
        runs.append(number)
        raise_attempts(session, number)
        session.execute(sa.text(statement))

    with pytest.raises(error):
        transact(database, unit)
    assert (len(runs), attempts_of(database)) == (1, [1, 1])


def test_an_error_of_our_own_is_raised_at_once_and_nothing_is_kept(database: Database) -> None:
    number, _ = add_two(database)

    def unit(session: Session) -> None:
        raise_attempts(session, number)
        raise LookupError

    with pytest.raises(LookupError):
        transact(database, unit)
    assert attempts_of(database) == [1, 1]


def test_an_error_without_a_name_is_not_retried() -> None:
    undecodable = sqlite3.OperationalError("Could not decode to UTF-8 column")
    assert not is_retryable(OperationalError("SELECT 1", {}, undecodable))


@pytest.mark.parametrize("engine_name", ["postgresql"])
def test_reading_cannot_write(database: Database) -> None:
    number, _ = add_two(database)
    with pytest.raises(DBAPIError, match="read-only"), reading(database) as session:
        raise_attempts(session, number)


def test_reading_keeps_nothing(database: Database) -> None:
    number, _ = add_two(database)
    if database.dialect != "postgresql":
        with reading(database) as session:
            raise_attempts(session, number)
    assert attempts_of(database) == [1, 1]


@SERVERS
def test_a_statement_that_takes_too_long_is_ended(database: Database) -> None:
    hasty = Database(database.url.render_as_string(hide_password=False), statement_timeout_seconds=1)
    sleep = "SELECT pg_sleep(20)" if database.dialect == "postgresql" else "SELECT SLEEP(20)"
    with pytest.raises(DBAPIError), reading(hasty) as session:
        session.execute(sa.text(sleep))
    hasty.dispose()


def test_mysql_limits_statements_by_its_own_name() -> None:
    assert statement_limit("mysql", 10, version="8.4.3") == "SET SESSION max_execution_time = 10000"
    assert statement_limit("mysql", 10, version="10.11.19-MariaDB-0+deb12u1") == "SET SESSION max_statement_time = 10"


def test_a_writer_can_follow_a_reader_on_the_same_connection(database: Database) -> None:
    number, _ = add_two(database)
    assert attempts_of(database) == [1, 1]
    transact(database, lambda session: raise_attempts(session, number))
    assert attempts_of(database) == [2, 1]


def in_threads(*works: Callable[[], None]) -> None:
    """Run each in a thread of its own; an error of any of them is raised here."""
    errors: list[BaseException] = []

    def guarded(work: Callable[[], None]) -> None:
        try:
            work()
        except BaseException as error:  # noqa: BLE001 - raised again below
            errors.append(error)

    threads = [threading.Thread(target=guarded, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
