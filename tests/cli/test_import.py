import gzip
import json
import os
from pathlib import Path
from typing import Any

import pytest

from dashboard.db import Database
from tests.cli.conftest import Run
from tests.import_file import as_text, counted, event, operation, record, write

BAD = (
    b'{"kind": "operation", "operation_id": "cut-off", "tenant": ',
    operation(operation_id="no-tenant", tenant=None),
    operation(operation_id="has space"),
    operation(operation_id="x" * 140),
    operation(operation_id="bad-state", state="finished"),
    operation(operation_id="naive-time", created_at="2026-11-30T10:00:00"),
    operation(operation_id="nul-byte", entity_id="a\x00b"),
    operation(operation_id="surrogate", entity_id="\ud800"),
    operation(operation_id="amount-no-currency", amount="10.00"),
    operation(operation_id="amount-nan", amount="NaN", currency="EUR"),
    operation(operation_id="unknown-field", colour="red"),
    event(operation_id="nobody"),
    {"kind": "widget"},
    b"[]",
)


def test_bad_lines_are_reported_and_do_not_stop_the_good_one(ready: Database, run: Run, folder: Path) -> None:
    ended = run("import", write(folder / "bad.jsonl", *BAD, operation(), operation()))
    rejects = [json.loads(line) for line in (folder / "bad.rejects.jsonl").read_text().splitlines()]
    assert ended.status == 1
    assert counted(ready) == (1, 0, 0)
    assert [reject["line"] for reject in rejects] == list(range(1, 15))
    assert [reject["field"] for reject in rejects] == [
        None,
        "tenant",
        "operation_id",
        "operation_id",
        "state",
        "created_at",
        "entity_id",
        "entity_id",
        "currency",
        "amount",
        "colour",
        "operation_id",
        "kind",
        None,
    ]
    assert all(reject["reason"].endswith(".") for reject in rejects)
    assert rejects[13]["text"] == "[]"
    assert "16 lines read: 1 new, 1 there already, 14 rejected." in ended.out


def test_the_first_twenty_are_printed_and_the_rest_counted(ready: Database, run: Run, folder: Path) -> None:
    ended = run("import", write(folder / "bad.jsonl", *[b"[]"] * 25))
    assert ended.err.count("no JSON object") == 20
    assert "... and 5 more." in ended.err
    assert "bad.rejects.jsonl" in ended.err


def test_hostile_text_is_printed_visibly(ready: Database, run: Run, folder: Path) -> None:
    ended = run("import", write(folder / "bad.jsonl", operation(**{"\x1b[31m": 1})))
    assert "\x1b[31m" not in ended.err
    assert r"\u001b[31m" in ended.err


def test_a_mended_file_leaves_no_rejects_behind(ready: Database, run: Run, folder: Path) -> None:
    run("import", write(folder / "a.jsonl", b"[]"))
    ended = run("import", write(folder / "a.jsonl", operation()))
    assert ended.status == 0
    assert [path.name for path in folder.iterdir()] == ["a.jsonl"]


def test_rejects_go_to_the_present_folder_where_the_files_folder_refuses(
    ready: Database, run: Run, tmp_path: Path, folder: Path
) -> None:
    path = write(tmp_path / "a.jsonl", b"[]")
    (tmp_path / "a.rejects.jsonl").mkdir()  # refuses the superuser too
    ended = run("import", path)
    assert ended.status == 1
    assert "cannot be written" in ended.err
    assert (folder / "a.rejects.jsonl").read_text().count("\n") == 1


def test_all_rejects_are_printed_where_no_file_can_be_written(
    ready: Database, run: Run, tmp_path: Path, folder: Path
) -> None:
    for place in (tmp_path, folder):
        (place / "a.rejects.jsonl").mkdir()
    ended = run("import", write(tmp_path / "a.jsonl", *[b"[]"] * 25))
    assert (ended.status, ended.err.count("no JSON object")) == (1, 25)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "is empty"),
        (gzip.compress(b"{}", mtime=0), "packed with gzip: unpack it first"),
        (b"PK\x03\x04", "packed with zip"),
        ("{}".encode("utf-16"), "UTF-16: save it as UTF-8"),
        (b"\x7fELF\x00\x00", "is not text"),
    ],
)
def test_what_is_no_file_of_lines_is_refused(
    ready: Database, run: Run, folder: Path, content: bytes, words: str
) -> None:
    path = folder / "a.jsonl"
    path.write_bytes(content)
    ended = run("import", path)
    assert ended.status == 2
    assert words in ended.err


@pytest.mark.parametrize("name", ["missing.jsonl", "."])
def test_a_missing_file_or_a_folder_is_refused(ready: Database, run: Run, folder: Path, name: str) -> None:
    ended = run("import", name)
    assert ended.status == 2
    assert name in ended.err


def test_an_old_database_says_what_to_run(run: Run, folder: Path) -> None:
    ended = run("import", write(folder / "a.jsonl", operation()))
    assert ended.status == 3
    assert ended.err.count("\n") == 1
    assert "dashboard db upgrade" in ended.err


def test_a_pipe_is_refused(ready: Database, run: Run) -> None:
    reader, writer = os.pipe()
    os.write(writer, b"{}\n")
    ended = run("import", f"/dev/fd/{reader}")
    os.close(reader)
    os.close(writer)
    assert (ended.status, "is a pipe" in ended.err) == (2, True)


def test_a_name_that_is_not_utf_8_is_no_fault(ready: Database, run: Run, folder: Path) -> None:
    path = folder / os.fsdecode(b"caf\xe9.jsonl")
    assert run("import", write(path, operation())).status == 0


def test_every_reason_is_a_sentence(ready: Database, run: Run, folder: Path) -> None:
    objects: tuple[Any, ...] = ([], "text", {"a": float("inf")})
    headers: tuple[Any, ...] = ({}, [["a"]], [["a", "b", "c"]])
    lines = (
        *(operation(attempts=value) for value in ("1", -1, 2**40)),
        *(operation(expected=value) for value in objects),
        *(record(response_headers=value) for value in headers),
        operation(created_at="1850-01-01T00:00:00Z"),
        operation(created_at="soon"),
        operation(tenant=""),
        operation(tenant="x" * 100),
        record(state="done"),
        {"kind": "event"},
        {},
        b'{"a": 1, "a": 2}',
        b"[" * 100_000,
        b"\xff",
    )
    run("import", write(folder / "bad.jsonl", *lines))
    rejects = [json.loads(line) for line in (folder / "bad.rejects.jsonl").read_text().splitlines()]
    assert len(rejects) == len(lines)
    assert [reject for reject in rejects if not reject["reason"].endswith(".")] == []


def test_times_move_to_now(ready: Database, run: Run, folder: Path) -> None:
    path = folder / "a.jsonl"
    path.write_bytes(as_text(operation()))
    assert run("import", path, "--shift-to-now").status == 0
    assert counted(ready) == (1, 0, 0)
