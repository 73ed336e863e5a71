"""Commands run as they are typed: arguments and environment in, status and words out."""

import io
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from dashboard.cli import main
from dashboard.db import Database


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    status: int
    out: str
    err: str


Run = Callable[..., Ended]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run `dashboard` with these arguments, and with `stdin` as what is typed."""

    def run(*arguments: str | Path, stdin: str = "") -> Ended:
        monkeypatch.setattr("sys.stdin", io.StringIO(stdin))
        with pytest.raises(SystemExit) as ended:
            main([str(argument) for argument in arguments])
        told = capsys.readouterr()
        assert isinstance(ended.value.code, int)
        return Ended(ended.value.code, told.out, told.err)

    return run


@pytest.fixture(autouse=True)
def folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """An empty folder to run in, with no database yet."""
    for name in ("SECRET_KEY", "POLICIES", "ENVIRONMENT", "COOKIE_SECURE", "DEMO"):
        monkeypatch.delenv(f"DASHBOARD_{name}", raising=False)
    monkeypatch.setenv("DASHBOARD_DATABASE_URL", f"sqlite:///{tmp_path}/none.sqlite3")
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    return work


@pytest.fixture
def ready(sqlite_database: Database, monkeypatch: pytest.MonkeyPatch) -> Database:
    """The migrated database that commands use."""
    monkeypatch.setenv("DASHBOARD_DATABASE_URL", sqlite_database.url.render_as_string(hide_password=False))
    return sqlite_database
