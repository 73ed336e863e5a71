from sqlalchemy import text

from dashboard.db import Database, transact
from dashboard.services import schema
from tests.cli.conftest import Run


def test_upgrade_makes_the_tables_and_twice_changes_nothing(run: Run) -> None:
    first, second = run("db", "upgrade"), run("db", "upgrade")
    assert first.out == f"The database went from no schema to schema {schema.head()}.\n"
    assert second.out == f"The database is at schema {schema.head()} already.\n"
    assert run("db", "check").status == 0


def test_current_says_where_the_database_is(run: Run) -> None:
    assert run("db", "current").out == f"database: no schema\nneeded: schema {schema.head()}\n"


def test_check_finds_an_old_schema(run: Run) -> None:
    ended = run("db", "check")
    assert ended.status == 3
    assert "dashboard db upgrade" in ended.out


def test_check_finds_a_missing_table(ready: Database, run: Run) -> None:
    transact(ready, lambda session: session.execute(text("DROP TABLE operation_payloads")))
    ended = run("db", "check")
    assert ended.status == 3
    assert "operation_payloads" in ended.out
