"""What policy hides of a type reaches no event, wherever the event's operation was met first."""

from pathlib import Path

import pytest
from sqlalchemy import select
from sqlalchemy.event import listen

from dashboard.db import Database, reading
from dashboard.domain.policy import Policies, TypePolicy
from dashboard.models import OperationEvent
from tests.import_file import event, import_file, operation, write

HIDING = TypePolicy(redact=("expected.email",))
POLICIES = Policies(types={"sync_customer": HIDING})
PROBE = event(event="probe", evidence={"expected": {"email": "ana@x.example"}, "actual": {"email": "eva@x.example"}})
HIDDEN = {"expected": {"email": "[redacted]"}, "actual": {"email": "[redacted]"}}


def evidence(database: Database) -> list[object]:
    with reading(database) as session:
        return list(session.scalars(select(OperationEvent.evidence).order_by(OperationEvent.id)))


@pytest.mark.parametrize("batch_lines", [1, 100])
def test_the_paths_of_the_type_are_hidden_on_both_sides(database: Database, tmp_path: Path, batch_lines: int) -> None:
    path = write(tmp_path / "a.jsonl", operation(), PROBE)
    import_file(database, path, policies=POLICIES, batch_lines=batch_lines)
    assert evidence(database) == [HIDDEN]


def test_the_type_is_that_of_the_stored_operation(sqlite_database: Database, tmp_path: Path) -> None:
    import_file(sqlite_database, write(tmp_path / "a.jsonl", operation()))
    lines = write(tmp_path / "b.jsonl", operation(type="another"), PROBE)
    import_file(sqlite_database, lines, policies=POLICIES)
    assert evidence(sqlite_database) == [HIDDEN]


def test_other_types_keep_theirs(sqlite_database: Database, tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", operation(type="another"), PROBE)
    import_file(sqlite_database, path, policies=POLICIES)
    assert evidence(sqlite_database) == [PROBE["evidence"]]


def test_types_are_looked_up_once_a_batch(sqlite_database: Database, tmp_path: Path) -> None:
    names = [f"op-{number}" for number in range(5)]
    import_file(sqlite_database, write(tmp_path / "a.jsonl", *(operation(operation_id=name) for name in names)))
    asked: list[str] = []
    listen(sqlite_database.engine, "before_cursor_execute", lambda *given: asked.append(given[2]))
    events = write(tmp_path / "b.jsonl", *(PROBE | {"operation_id": name} for name in names))
    import_file(sqlite_database, events, policies=POLICIES)
    assert len([statement for statement in asked if "FROM operations" in statement]) == 1
    assert evidence(sqlite_database) == [HIDDEN] * 5
