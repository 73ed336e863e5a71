import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import text

from dashboard.db import Database, reading, transact
from dashboard.queries.audit_checks import AuditStanding, Way, audit_standing
from dashboard.services import audit
from tests.cli.conftest import Run
from tests.factories import NOW
from tests.import_file import ACTOR


def append(database: Database, count: int) -> None:
    def unit(session: object) -> None:
        for number in range(count):
            audit.append(session, actor=ACTOR, action="note", subject=f"op-{number}", now=NOW)  # type: ignore[arg-type]

    transact(database, unit)


def standing(database: Database) -> AuditStanding:
    with reading(database) as session:
        return audit_standing(session)


def test_an_untouched_log_is_intact(ready: Database, run: Run) -> None:
    append(ready, 3)
    ended = run("audit", "verify")
    assert ended.status == 0
    assert ended.out.startswith("Intact: 3 entries, last hash ")


def test_a_changed_entry_is_named(ready: Database, run: Run) -> None:
    append(ready, 3)
    for statement in ("DROP TRIGGER audit_log_no_update", "UPDATE audit_log SET subject = 'op-9' WHERE seq = 2"):
        transact(ready, lambda session, statement=statement: session.execute(text(statement)))  # type: ignore[misc]
    ended = run("audit", "verify")
    assert ended.status == 1
    assert ended.out == "Broken: Entry 2 was changed after it was written. The 1 before it agree.\n"


def test_an_anchor_is_taken_kept_and_compared(ready: Database, run: Run, folder: Path) -> None:
    append(ready, 3)
    public = run("audit", "key", "key.pem").out.strip()
    anchor = run("audit", "anchor", "--key", "key.pem").out
    (folder / "anchor.json").write_text(anchor)
    ended = run("audit", "verify", "--anchor", "anchor.json", "--public-key", public)
    assert (ended.status, ended.out.splitlines()[1:]) == (0, ["Anchors that agree: 2.", f"Signed by {public}."])
    assert json.loads(anchor)["seq"] == 3


def test_a_cut_tail_is_named_by_the_anchor(ready: Database, run: Run, folder: Path) -> None:
    append(ready, 3)
    run("audit", "key", "key.pem")
    (folder / "anchor.json").write_text(run("audit", "anchor", "--key", "key.pem").out)
    taken = json.loads((folder / "anchor.json").read_text())
    for statement in (
        "DROP TRIGGER audit_log_no_delete",
        "UPDATE audit_head SET seq = 2, hash = (SELECT hash FROM audit_log WHERE seq = 2)",
        "DELETE FROM audit_log WHERE seq > 2",
    ):
        transact(ready, lambda session, statement=statement: session.execute(text(statement)))  # type: ignore[misc]
    assert run("audit", "verify").status == 0
    ended = run("audit", "verify", "--anchor", "anchor.json")
    assert ended.status == 1
    assert ended.out == (
        f"Broken: The log ends before entry 3: the end that the anchor at 3 of {taken['at']} names was cut off. "
        "The 2 before it agree.\n"
    )


def test_what_was_found_is_kept_by_the_way_it_was_run(ready: Database, run: Run, folder: Path) -> None:
    append(ready, 3)
    run("audit", "key", "key.pem")
    (folder / "anchor.json").write_text(run("audit", "anchor", "--key", "key.pem").out)
    run("audit", "verify")
    run("audit", "verify", "--anchor", "anchor.json", "--public-key", "0" * 64)
    found = {way: (check.checked, check.problem) for way, check in standing(ready).last.items()}
    assert found == {Way.ANCHOR: (3, None), Way.COMMAND: (4, None), Way.GIVEN: (0, "anchor_untrusted")}
    assert standing(ready).last[Way.COMMAND].actor_id.startswith("command line, ")


@pytest.fixture
def reader(database: Database, monkeypatch: pytest.MonkeyPatch) -> Iterator[Database]:
    """The database, which commands reach as somebody who may only read."""
    if database.dialect == "sqlite":
        monkeypatch.setenv("DASHBOARD_DATABASE_URL", f"sqlite:///file:{database.url.database}?mode=ro&uri=true")
        yield database
        return
    everywhere = "ALL TABLES IN SCHEMA public" if database.dialect == "postgresql" else f"{database.url.database}.*"
    name = "auditor" if database.dialect == "postgresql" else "auditor@localhost"
    password = "PASSWORD" if database.dialect == "postgresql" else "IDENTIFIED BY"
    execute(database, f"CREATE USER {name} {password} 'of a test'", f"GRANT SELECT ON {everywhere} TO {name}")
    url = database.url.set(username="auditor", password="of a test")
    monkeypatch.setenv("DASHBOARD_DATABASE_URL", url.render_as_string(hide_password=False))
    yield database
    owned = [f"DROP OWNED BY {name}"] if database.dialect == "postgresql" else []
    execute(database, *owned, f"DROP USER {name}")


def execute(database: Database, *statements: str) -> None:
    with database.engine.begin() as connection:
        for statement in statements:
            connection.exec_driver_sql(statement)


def test_who_may_only_read_verifies_and_is_told_that_nothing_is_kept(reader: Database, run: Run) -> None:
    append(reader, 3)
    ended = run("audit", "verify")
    assert (ended.status, ended.out.startswith("Intact: 3 entries")) == (0, True)
    assert ended.err.startswith("This result was not stored")
    assert standing(reader).last == {}


def test_a_key_that_others_can_read_is_refused(ready: Database, run: Run, folder: Path) -> None:
    append(ready, 1)
    run("audit", "key", "key.pem")
    (folder / "key.pem").chmod(0o644)
    ended = run("audit", "anchor", "--key", "key.pem")
    assert (ended.status, ended.out) == (2, "")
    assert ended.err == "Error: Others can read key.pem (mode 644): run `chmod 600` on it, or make a new key.\n"


def test_without_a_key_nothing_is_signed(ready: Database, run: Run) -> None:
    ended = run("audit", "anchor")
    assert (ended.status, "--key FILE" in ended.err) == (2, True)


def test_a_file_that_is_no_anchor_is_refused(ready: Database, run: Run, folder: Path) -> None:
    (folder / "anchor.json").write_text("{}")
    ended = run("audit", "verify", "--anchor", "anchor.json")
    assert (ended.status, "It is no anchor" in ended.err) == (2, True)


def test_the_log_is_exported_in_both_forms(ready: Database, run: Run) -> None:
    append(ready, 2)
    lines = run("audit", "export").out.splitlines()
    assert json.loads(lines[-1]) == {"end": {"shown": 2, "withheld": 0, "last": 2}}
    rows = run("audit", "export", "--format", "csv", "--from", "2026-11-30", "--to", "2026-12-01T00:00Z").out
    assert [row.split(",")[0] for row in rows.splitlines()[:3]] == ["seq", "1", "2"]


def test_a_time_that_cannot_be_read_is_told(ready: Database, run: Run) -> None:
    ended = run("audit", "export", "--from", "yesterday")
    assert (ended.status, "write 2026-11-30" in ended.err) == (2, True)


def test_the_verifier_is_printed_whole(ready: Database, run: Run) -> None:
    printed = run("audit", "verifier").out
    compile(printed, "verify_audit.py", "exec")
    assert "import dashboard" not in printed
    assert "from dashboard" not in printed
