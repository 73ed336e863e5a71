from sqlalchemy import text

from dashboard.db import Database, transact
from dashboard.services import audit
from tests.cli.conftest import Run
from tests.factories import NOW
from tests.import_file import ACTOR


def append(database: Database, count: int) -> None:
    def unit(session: object) -> None:
        for number in range(count):
            audit.append(session, actor=ACTOR, action="note", subject=f"op-{number}", now=NOW)  # type: ignore[arg-type]

    transact(database, unit)


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
