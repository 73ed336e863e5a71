import shutil
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import select

from dashboard.db import Database, reading
from dashboard.models import AuditEntry, OperationEvent
from dashboard.services.import_json import MAX_LINE_BYTES
from dashboard.services.importing import import_lines
from dashboard.services.policies import Policies
from tests.import_file import ACTOR, as_text, counted, event, import_file, operation, record, write

MEBIBYTE = 1024 * 1024
TEXT = st.text(st.characters(exclude_characters="\x00", exclude_categories=["Cs"]), min_size=1, max_size=12)
IDS = st.sampled_from(["a", "B", "b", "op-1", "op:2~x"])
OPERATIONS = st.builds(
    operation,
    operation_id=IDS,
    tenant=TEXT,
    state=st.sampled_from(["pending", "confirmed", "manual_review"]),
    expected=st.none() | st.dictionaries(TEXT, TEXT | st.integers(-(2**53), 2**53) | st.booleans()),
    parent=st.none() | IDS,
)
EVENTS = st.builds(event, operation_id=IDS, seq=st.integers(1, 3), reason=st.none() | TEXT)
RECORDS = st.builds(record, tenant=TEXT, key=TEXT, response_body=st.none() | TEXT)


@settings(max_examples=40, deadline=None)
@given(lines=st.lists(OPERATIONS | EVENTS | RECORDS, max_size=25))
def test_twice_is_the_same_as_once(
    lines: list[dict[str, Any]], sqlite_template: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("twice")
    database = Database(f"sqlite:///{shutil.copy(sqlite_template, folder / 'test.sqlite3')}")
    path = write(folder / "lines.jsonl", *sorted(lines, key=_forward_references_last))
    first, rejected = import_file(database, path)
    once = counted(database)
    second, again = import_file(database, path)
    assert first.new.total() + first.existing.total() + len(rejected) == first.read
    if not rejected:
        assert (second.new.total(), counted(database)) == (0, once)
    assert {line.number for line in again} <= {line.number for line in rejected}
    database.dispose()


def _forward_references_last(line: dict[str, Any]) -> bool:
    return line["kind"] != "operation" or line["parent"] is not None


@pytest.mark.parametrize("batch_lines", [1, 2, 1000])
def test_the_end_of_a_batch_makes_no_difference(sqlite_database: Database, tmp_path: Path, batch_lines: int) -> None:
    lines = [line for number in range(5) for line in (operation(operation_id=f"op-{number}"), event(), b"[]")]
    path = write(tmp_path / "a.jsonl", event(), *lines)
    summary, rejected = import_file(sqlite_database, path, batch_lines=batch_lines)
    assert counted(sqlite_database) == (5, 1, 0)
    assert [line.number for line in rejected] == [1, 3, 4, 7, 10, 13, 16]
    assert summary.read == 16


def test_memory_does_not_grow_with_the_file(sqlite_database: Database, tmp_path: Path) -> None:
    path = tmp_path / "long.jsonl"
    with path.open("wb") as file:
        file.write(as_text(operation()) + b"\n")
        file.writelines(as_text(event(seq=number)) + b"\n" for number in range(1, 12_001))
    tracemalloc.start()
    import_file(sqlite_database, path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert counted(sqlite_database) == (1, 12_000, 0)
    assert peak < 12 * MEBIBYTE


def test_a_line_without_an_end_does_not_fill_the_memory(sqlite_database: Database, tmp_path: Path) -> None:
    path = tmp_path / "endless.jsonl"
    path.write_bytes(b"x" * (8 * MAX_LINE_BYTES) + b"\n" + as_text(operation()) + b"\n")
    tracemalloc.start()
    _, rejected = import_file(sqlite_database, path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert [(line.number, line.problems[0].code) for line in rejected] == [(1, "line_too_long")]
    assert counted(sqlite_database) == (1, 0, 0)
    assert peak < 8 * MAX_LINE_BYTES


def test_blank_lines_marks_and_line_ends_of_other_systems_are_no_fault(
    sqlite_database: Database, tmp_path: Path
) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"\xef\xbb\xbf" + as_text(operation()) + b"\r\n\r\n  \r\n" + as_text(event()))
    summary, rejected = import_file(sqlite_database, path)
    assert (summary.read, rejected) == (2, [])
    assert counted(sqlite_database) == (1, 1, 0)


def test_a_last_line_cut_inside_a_character_is_rejected(sqlite_database: Database, tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(as_text(operation()) + b"\n" + '{"kind": "event", "reason": "€'.encode()[:-1])
    _, rejected = import_file(sqlite_database, path)
    assert [(line.number, line.problems[0].code) for line in rejected] == [(2, "not_utf8")]


def test_an_interrupted_run_keeps_whole_batches_and_says_so(sqlite_database: Database, tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", operation(), *(event(seq=number) for number in range(1, 6)))

    def stop(_lines: int, _bytes: int) -> None:
        raise KeyboardInterrupt

    with path.open("rb") as source, pytest.raises(KeyboardInterrupt):
        import_lines(
            sqlite_database,
            source=source,
            name="a.jsonl",
            actor=ACTOR,
            policies=Policies(),
            reject=lambda _: None,
            progress=stop,
            batch_lines=2,
        )
    assert counted(sqlite_database) == (1, 1, 0)
    with reading(sqlite_database) as session:
        assert '"finished":false' in (session.scalars(select(AuditEntry.after)).one() or "")
        assert session.scalars(select(OperationEvent.seq)).all() == [1]
