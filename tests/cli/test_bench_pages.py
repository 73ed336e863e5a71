"""`dashboard bench pages`: what it fills in is whole and true, it visits every page, and touches nobody's own data."""

import json
from pathlib import Path

import pytest
import sqlalchemy as sa

from dashboard.bench import filling, rates, shop
from dashboard.bench.lives import lives
from dashboard.cli.demo_shop import POLICIES
from dashboard.db import Database, clock, reading, transact
from dashboard.models import Operation, OperationEvent, Record
from dashboard.services import audit_checks, rollup_checks
from dashboard.services.policies import load_policies
from tests import factories
from tests.cli.conftest import Run

SIZE = shop.size_of(2000)
SILENT = lambda _done: None  # noqa: E731 - says nothing


def test_what_is_filled_in_is_whole_and_true(database: Database) -> None:
    before = _parts(database)
    filling.fill(database, SIZE, progress=SILENT)
    assert filling.filled(database) == SIZE
    assert rollup_checks.check(database) == []
    with reading(database) as session:
        assert session.scalar(sa.select(sa.func.count(Operation.id))) == 2000
        assert session.scalar(sa.select(sa.func.count(Operation.id)).where(Operation.is_open == 1)) == 10
        assert session.scalars(sa.select(sa.func.count(OperationEvent.id))).one() > 4000
        assert audit_checks.verify_all(session).intact
    # Triggers, indexes and foreign keys are as they were, and count on.
    assert _parts(database) == before
    transact(database, factories.operation)
    assert rollup_checks.check(database) == []


def test_the_same_seed_makes_the_same_shop(sqlite_database: Database) -> None:
    with reading(sqlite_database) as session:
        now = clock(session)
    first, again = ([life.row for life in lives(range(1, 400), SIZE, now=now)] for _ in range(2))
    other = [life.row for life in lives(range(1, 400), shop.size_of(2000, seed=2), now=now)]
    assert first == again != other


def test_every_page_is_measured(ready: Database, run: Run, tmp_path: Path) -> None:
    kept = tmp_path / "run.json"
    ended = run("bench", "pages", "--operations", "2000", "--repeat", "1", "--save", kept)
    assert ended.status == 0, ended.err
    pages = {page["name"]: page for page in json.loads(kept.read_text())["pages"]}
    assert {page["status"] for page in pages.values()} <= {200, 302}
    assert all(page["statements"] > 1 for page in pages.values())
    assert pages["operations, first page"]["statements"] < 10
    assert "| audit, one person |" in ended.out
    assert "Flask-Admin is not there and was skipped" in ended.out
    assert run("bench", "table", kept).out == ended.out


def test_pages_are_compared_with_a_smaller_database(
    ready: Database, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    smaller, kept = f"sqlite:///{tmp_path / 'smaller.sqlite'}", tmp_path / "run.json"
    measured = ("bench", "pages", "--operations", "2000", "--repeat", "1", "--save", kept, "--smaller", smaller)
    with monkeypatch.context() as there:
        there.setenv("DASHBOARD_DATABASE_URL", smaller)
        assert run("db", "upgrade").status == 0
    assert "is not one that this command filled" in run(*measured).err
    with monkeypatch.context() as there:
        there.setenv("DASHBOARD_DATABASE_URL", smaller)
        assert run("bench", "pages", "--operations", "1000", "--fill-only").status == 0
    monkeypatch.setattr("sys.argv", ["dashboard", "bench", "pages", f"--smaller={smaller}"])
    ended = run(*measured)
    assert ended.status == 0, ended.err
    told = json.loads(kept.read_text())
    assert (told["smaller"], told["command"]) == (1000, "dashboard bench pages --smaller=URL")
    assert all(page["smaller"] > 0 for page in told["pages"])
    assert "| 1,000 operations | times |" in ended.out
    assert "pages: grown at most 1.3 times." in ended.out


def test_import_and_audit_log_are_measured_on_an_empty_database(ready: Database, run: Run) -> None:
    empty = run("bench", "rates", "--entries", "5", "--imported", "30")
    assert [line.split(":")[0] for line in empty.out.splitlines()] == [
        "Import, lines",
        "Audit entries appended, each committed",
        "Audit entries verified",
        "Engine",
        "Machine",
    ]


def test_claims_are_measured_and_taken_back(sqlite_database: Database) -> None:
    filling.fill(sqlite_database, shop.size_of(2000, open=400), progress=SILENT)
    before = _states(sqlite_database)
    rate = rates.claims(sqlite_database, policies=load_policies(POLICIES))
    assert rate is not None
    assert rate.count > 5
    assert _states(sqlite_database) == before


@pytest.mark.parametrize("command", [("pages", "--operations", "2000"), ("rates",)])
def test_a_database_in_use_is_refused(ready: Database, run: Run, command: tuple[str, ...]) -> None:
    transact(ready, factories.operation)
    ended = run("bench", *command)
    assert (ended.status, ended.out) == (2, "")
    assert "neither empty nor" in ended.err


def test_another_size_is_refused(ready: Database, run: Run) -> None:
    filling.fill(ready, SIZE, progress=SILENT)
    assert run("bench", "pages", "--operations", "3000").status == 2


def _states(database: Database) -> list[tuple[object, ...]]:
    with reading(database) as session:
        return [tuple(row) for row in session.execute(sa.select(Operation.id, Operation.state, Operation.attempts))]


def _parts(database: Database) -> list[tuple[str, ...]]:
    """All indexes, foreign keys and triggers, by name."""
    looked = sa.inspect(database.engine)
    names = list(Record.metadata.tables)
    found = [(name, str(index["name"])) for name in names for index in looked.get_indexes(name)]
    found += [(name, str(key["name"])) for name in names for key in looked.get_foreign_keys(name)]
    triggers = {
        "sqlite": "SELECT name, sql FROM sqlite_master WHERE type = 'trigger'",
        "postgresql": "SELECT tgname, tgenabled FROM pg_trigger WHERE NOT tgisinternal",
        "mysql": "SELECT trigger_name, action_statement FROM information_schema.triggers "
        "WHERE trigger_schema = database()",
    }
    with reading(database) as session:
        rows = session.execute(sa.text(triggers[database.dialect])).all()
    return sorted(found + [tuple(str(value) for value in row) for row in rows])
