"""The exported audit log, and the script that checks it on a machine without the product."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dashboard.adapters import anchor_keys
from dashboard.cli import verify_audit
from dashboard.db import Database, reading
from dashboard.domain.errors import NotAllowedError
from dashboard.domain.permissions import Actor, Grant, Role
from dashboard.domain.states import ActorKind
from dashboard.services import audit_export
from dashboard.services.anchoring import take_anchor
from dashboard.services.policies import Policies, read_policies
from tests import factories
from tests.import_file import ACTOR
from tests.services.tampering import append_some
from tests.services.test_audit_anchors import KEY

SCRIPT = Path(verify_audit.__file__)
HOSTILE = "=cmd|'/c calc'!A1 \u202e é 😀 \\ \" \n"
MASKING = read_policies(b'[types.charge_order]\nmask = ["expected.email"]\n', environment={})
EMAIL = "ana@customer.example"


def exported(database: Database, reader: Actor = ACTOR, policies: Policies | None = None, **time: Any) -> list[str]:
    begun = audit_export.begin(database, reader=reader, form="jsonl", **time)
    with reading(database) as session:
        lines = audit_export.lines(session, begun, policies=policies or Policies())
        return [json.dumps(line, ensure_ascii=False) for line in lines]


def alone(folder: Path, lines: list[str], *arguments: str | Path) -> tuple[int, str]:
    """Run the script as an auditor does: without the product, its packages or its environment."""
    (folder / "audit.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    command = [sys.executable, "-I", "-S", str(SCRIPT), "audit.jsonl", *map(str, arguments)]
    ended = subprocess.run(command, cwd=folder, env={}, capture_output=True, text=True, check=False)
    return ended.returncode, ended.stdout + ended.stderr


def checked(lines: list[str]) -> str | None:
    """What the script finds, in this process."""
    found = iter(lines)
    try:
        header = verify_audit.header_of(next(found, ""))
        verify_audit.walk(found, header, {})
    except verify_audit.BrokenError as error:
        return str(error)
    return None


def test_the_script_verifies_an_export_and_its_anchor(database: Database, tmp_path: Path) -> None:
    append_some(database, 3, reason=HOSTILE)
    anchor = take_anchor(database, actor=ACTOR, key=KEY)
    (tmp_path / "anchor.json").write_text(anchor.text())
    status, told = alone(tmp_path, exported(database), "--anchor", "anchor.json", "--public-key", anchor.public_key)
    assert (status, told.splitlines()[:2]) == (
        0,
        ["Intact: entries 1 to 4, 4 with their content.", "Anchors that fit: 1."],
    )


def test_the_script_says_what_it_cannot_know(sqlite_database: Database, tmp_path: Path) -> None:
    append_some(sqlite_database, 1)
    status, told = alone(tmp_path, exported(sqlite_database))
    assert status == 0
    assert "whoever wrote it could have written all of it anew" in told


def test_a_log_cut_before_it_was_exported_does_not_reach_its_anchor(sqlite_database: Database, tmp_path: Path) -> None:
    append_some(sqlite_database, 3)
    lines = exported(sqlite_database)
    (tmp_path / "anchor.json").write_text(take_anchor(sqlite_database, actor=ACTOR, key=KEY).text())
    status, told = alone(tmp_path, lines, "--anchor", "anchor.json")
    assert (status, "The log ends before entry 4" in told) == (1, True)


def test_a_forged_anchor_is_named(sqlite_database: Database, tmp_path: Path) -> None:
    append_some(sqlite_database, 3)
    anchor = take_anchor(sqlite_database, actor=ACTOR, key=KEY)
    (tmp_path / "anchor.json").write_text(anchor.text().replace('"seq": 3', '"seq": 2'))
    status, told = alone(tmp_path, exported(sqlite_database), "--anchor", "anchor.json")
    assert (status, "The signature of the anchor at entry 2" in told) == (1, True)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda lines: lines[:-1], "its tail was cut off"),
        (lambda lines: lines[:2], "its tail was cut off"),
        (lambda lines: [*lines[:-2], lines[-1]], "Entries behind 3 were cut off"),
        (lambda lines: [*lines[:2], *lines[3:]], "Entry 2 is missing"),
        (lambda lines: [lines[0], *lines[2:]], "Entry 1 is missing"),
        (lambda lines: [*lines[:2], lines[3], lines[2], *lines[4:]], "Entry 2 is missing"),
        (lambda lines: [*lines[:3], lines[3][:-20], *lines[4:]], "Line 4 cannot be read"),
        (lambda lines: [*lines[:3], lines[3].replace("op-2", "op-9"), *lines[4:]], "Entry 3 (line 4) was changed"),
        (lambda lines: [*lines[:3], lines[3][:-1] + ', "note": "x"}', *lines[4:]], "does not have the fields"),
        (lambda lines: [*lines[:3], lines[3][:-1] + ', "seq": 3}', *lines[4:]], "one name stands twice"),
        (lambda lines: [*lines, lines[1]], "added behind the end"),
    ],
)
def test_whatever_is_done_to_an_export_is_named(
    sqlite_database: Database, change: Callable[[list[str]], list[str]], told: str
) -> None:
    append_some(sqlite_database, 4)
    lines = exported(sqlite_database)
    assert checked(lines) is None
    assert told in (checked(change(lines)) or "")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=300, deadline=None)
@given(place=st.floats(0, 1, exclude_max=True), other=st.integers(1, 127))
def test_one_changed_byte_is_named(sqlite_database: Database, place: float, other: int) -> None:
    if not hasattr(sqlite_database, "lines"):
        append_some(sqlite_database, 4, reason=HOSTILE)
        sqlite_database.lines = exported(sqlite_database)  # type: ignore[attr-defined]
    lines: list[str] = sqlite_database.lines  # type: ignore[attr-defined]
    content = bytearray("\n".join(lines[1:-1]).encode())
    content[int(place * len(content))] ^= other
    changed = content.decode("utf-8", "surrogateescape").split("\n")
    if [_read(line) for line in changed] != [_read(line) for line in lines[1:-1]]:
        assert checked([lines[0], *changed, lines[-1]])


def _read(line: str) -> object:
    # A blank outside of the texts says nothing.
    try:
        return json.loads(line, object_pairs_hook=list)
    except ValueError:
        return line


def test_signatures_are_judged_as_a_library_judges_them() -> None:
    key = Ed25519PrivateKey.generate()
    public, message = key.public_key().public_bytes_raw(), HOSTILE.encode()
    signature = key.sign(message)
    assert verify_audit.signature_fits(public, message, signature)
    for position in range(0, 64, 7):
        other = bytearray(signature)
        other[position] ^= 1
        assert not verify_audit.signature_fits(public, message, bytes(other))
    assert not verify_audit.signature_fits(public, message + b".", signature)
    assert not verify_audit.signature_fits(bytes.fromhex(anchor_keys.public_key(KEY)), message, signature)
    # A second spelling of the same signature, which RFC 8032 refuses.
    twin = int.from_bytes(signature[32:], "little") + verify_audit.ORDER
    assert not verify_audit.signature_fits(public, message, signature[:32] + twin.to_bytes(32, "little"))


def test_a_scope_is_exported_with_the_place_of_all_else(database: Database) -> None:
    append_some(database, 2)
    append_some(database, 2, tenant="shop-jp", reason="not for them")
    reader = Actor(ActorKind.USER, "manager@shop.example", (Grant(Role.MANAGER, "tienda-es"),))
    lines = exported(database, reader)
    assert "not for them" not in "".join(lines)
    assert [json.loads(line).get("withheld") for line in lines[1:-1]] == [None, None, "scope", "scope"]
    assert checked(lines) is None
    assert "Entry 3 is missing" in (checked([*lines[:3], *lines[4:]]) or "")


def test_an_entry_that_holds_what_policy_masks_is_withheld(sqlite_database: Database) -> None:
    append_some(sqlite_database, 1, evidence={"snapshot": {"expected": {"email": EMAIL}}})
    append_some(sqlite_database, 1)
    lines = exported(sqlite_database, policies=MASKING)
    assert EMAIL not in "".join(lines)
    assert [json.loads(line).get("withheld") for line in lines[1:-1]] == ["masked", None]
    assert checked(lines) is None


def test_a_time_is_exported_whole(database: Database) -> None:
    append_some(database, 2)
    append_some(database, 2, now=factories.NOW.replace(day=1, month=12))
    lines = exported(database, since=factories.NOW.replace(day=1, month=12))
    header = json.loads(lines[0])
    assert (header["first"], header["last"]) == (3, 4)
    assert checked(lines) is None


def test_nothing_is_exported_as_nothing(sqlite_database: Database, tmp_path: Path) -> None:
    append_some(sqlite_database, 1)
    status, told = alone(tmp_path, exported(sqlite_database, until=factories.NOW.replace(year=2020)))
    assert status == 0, told


def test_a_spreadsheet_takes_no_cell_for_a_formula(sqlite_database: Database) -> None:
    append_some(sqlite_database, 1, reason=HOSTILE, subject="@SUM(A1)")
    begun = audit_export.begin(sqlite_database, reader=ACTOR, form="csv")
    with reading(sqlite_database) as session:
        header, row = audit_export.rows(session, begun, policies=Policies())
    found = dict(zip(header, row, strict=True))
    assert (found["reason"], found["subject"]) == ("'" + HOSTILE, "'@SUM(A1)")
    assert not any(cell.startswith(("=", "+", "-", "@")) for cell in row)


def test_who_may_not_export_gets_nothing(sqlite_database: Database) -> None:
    nobody = Actor(ActorKind.USER, "nobody@shop.example")
    with pytest.raises(NotAllowedError):
        audit_export.begin(sqlite_database, reader=nobody, form="jsonl")


def test_exports_are_entries_and_have_a_limit(sqlite_database: Database) -> None:
    manager = factories.actor(Role.MANAGER)
    for _ in range(audit_export.MOST_IN_TIME):
        exported(sqlite_database, manager)
    lines = exported(sqlite_database)
    assert json.loads(lines[-2])["action"] == "audit_export"
    with pytest.raises(audit_export.ExportRefusedError, match="export_too_often"):
        exported(sqlite_database, manager)
