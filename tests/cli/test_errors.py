from pathlib import Path

import pytest

from dashboard.db import Database
from tests.cli.conftest import Run


def test_a_bad_setting_is_one_line_without_its_value(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DASHBOARD_DATABASE_URL", "oracle://scott:tiger@db/shop")
    ended = run("db", "check")
    assert ended.status == 2
    assert ended.err == "Error: DASHBOARD_DATABASE_URL: must begin with sqlite:, postgresql:, mariadb: or mysql:\n"


@pytest.mark.parametrize("url", ["postgresql://x:secret@127.0.0.1:9/x", "mariadb://x:secret@127.0.0.1:9/x"])
def test_a_database_that_does_not_answer_is_one_line(run: Run, monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    monkeypatch.setenv("DASHBOARD_DATABASE_URL", url)
    ended = run("db", "check")
    assert ended.status == 3
    assert ended.err.startswith("Error: The database cannot be used: ")
    assert ended.err.count("\n") == 1
    assert "secret" not in ended.err


def test_a_file_that_is_no_database_is_one_line(run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = tmp_path / "letter.txt"
    path.write_text("Dear customer, " * 100)
    monkeypatch.setenv("DASHBOARD_DATABASE_URL", f"sqlite:///{path}")
    ended = run("db", "check")
    assert (ended.status, ended.err) == (3, "Error: The database cannot be used: file is not a database\n")


def test_a_missing_secret_stops_the_server(ready: Database, run: Run) -> None:
    ended = run("serve")
    assert ended.status == 2
    assert ended.err == "Error: DASHBOARD_SECRET_KEY: Set it to a secret of at least 16 characters.\n"


def test_a_bad_policy_file_is_told_by_key(
    ready: Database, run: Run, monkeypatch: pytest.MonkeyPatch, folder: Path
) -> None:
    path = folder / "policies.toml"
    path.write_text('[types.a]\ndeadline = "soon"\n')
    (folder / "a.jsonl").write_text("{}")
    monkeypatch.setenv("DASHBOARD_POLICIES", str(path))
    ended = run("import", "a.jsonl")
    assert ended.status == 2
    assert ended.err.startswith('Error: types.a.deadline: "soon" is no duration; write a whole number and a unit')


def test_help_names_the_exit_status(run: Run) -> None:
    ended = run("--help")
    assert ended.status == 0
    assert "3    not done: the database" in ended.out


def test_an_unknown_command_is_a_wrong_argument(run: Run) -> None:
    assert run("frobnicate").status == 2
