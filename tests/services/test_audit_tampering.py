"""Whoever changes the audit log past its triggers is found, and the first bad entry is named."""

import pytest
import sqlalchemy as sa

from dashboard.db import Database
from dashboard.models import AuditEntry
from dashboard.services import audit
from tests import factories
from tests.services.tampering import append_some, entry, tamper, unguarded, verified

MIDDLE = 3
TEXTS = [name for name in (*audit.HASHED_COLUMNS, "previous_hash", "hash") if name not in {"seq", "at"}]
OPTIONAL = ("address", "tenant", "type", "before", "after", "reason", "evidence", "request_id", "previous_hash")


def test_a_byte_changed_in_any_column_is_found(database: Database) -> None:
    append_some(database, 5)
    with unguarded(database) as run:
        for column in TEXTS:
            kept: str = getattr(entry(database, MIDDLE), column)
            for slip in slips(kept, optional=column in OPTIONAL):
                run(middle(**{column: slip}))
                assert found(database) == (MIDDLE, "changed"), (column, slip)
            run(middle(**{column: kept}))
            assert verified(database).intact


def test_nothing_is_not_an_empty_text(database: Database) -> None:
    append_some(database, 5, reason=None, evidence=None)
    tamper(database, middle(reason=""))
    assert found(database) == (MIDDLE, "changed")


def test_one_microsecond_is_found(database: Database) -> None:
    append_some(database, 5)
    later = factories.NOW.replace(microsecond=123458)
    tamper(database, middle(at=later))
    assert found(database) == (MIDDLE, "changed")


@pytest.mark.parametrize(
    "spelling",
    [
        "2026-11-30T12:00:00.123457",
        "2026-11-30 12:00:00.1234570",
        "2026-11-30 12:00:00.123457+00:00",
        "2026-11-30 12:00:00.123457 ",
        "yesterday",
        "",
    ],
)
def test_another_spelling_of_a_time_is_found(sqlite_database: Database, spelling: str) -> None:
    append_some(sqlite_database, 5)
    tamper(sqlite_database, change("at", f"'{spelling}'"))
    assert found(sqlite_database) == (MIDDLE, "changed")


@pytest.mark.parametrize("column", ["actor_id", "reason", "previous_hash", "hash", "at"])
def test_what_is_no_text_any_more_is_found(sqlite_database: Database, column: str) -> None:
    append_some(sqlite_database, 5)
    for value in ("CAST(x'66ff' AS TEXT)", "x'00ff'", "7", "7.5"):
        tamper(sqlite_database, change(column, value))
        assert found(sqlite_database) == (MIDDLE, "changed"), value


def test_a_removed_entry_leaves_a_gap(database: Database) -> None:
    append_some(database, 5)
    tamper(database, "DELETE FROM audit_log WHERE seq = 3")
    assert found(database) == (MIDDLE, "gap")


@pytest.mark.parametrize("seq", [-1, 0, 9])
def test_a_renumbered_entry_is_found(database: Database, seq: int) -> None:
    append_some(database, 5)
    tamper(database, middle(seq=seq))
    assert found(database) == (MIDDLE if seq > 0 else 1, "gap")


def test_swapped_entries_are_found(database: Database) -> None:
    append_some(database, 5)
    steps = ((2, 99), (MIDDLE, 2), (99, MIDDLE))
    tamper(database, *(sa.update(AuditEntry).where(AuditEntry.seq == old).values(seq=new) for old, new in steps))
    assert found(database) == (2, "changed")


def test_a_cut_tail_is_found(database: Database) -> None:
    append_some(database, 5)
    tamper(database, "DELETE FROM audit_log WHERE seq > 3")
    assert found(database) == (4, "tail_cut")


def test_a_log_cut_to_nothing_is_found(database: Database) -> None:
    append_some(database, 5)
    tamper(database, "DELETE FROM audit_log")
    assert found(database) == (1, "tail_cut")


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE audit_head SET seq = 4",
        "UPDATE audit_head SET seq = NULL, hash = NULL",
        "UPDATE audit_head SET hash = 'x'",
        "UPDATE audit_head SET hash = NULL",
        "DELETE FROM audit_head",
    ],
)
def test_a_changed_head_is_found(database: Database, statement: str) -> None:
    append_some(database, 5)
    tamper(database, statement)
    assert found(database) == (5, "head_changed")


def test_a_forged_entry_with_a_hash_of_its_own_is_found_at_the_next_one(database: Database) -> None:
    append_some(database, 5)
    forge(database, MIDDLE)
    assert found(database) == (MIDDLE + 1, "unlinked")


def test_a_forged_last_entry_is_found_by_the_head(database: Database) -> None:
    append_some(database, 5)
    forge(database, 5)
    assert found(database) == (5, "head_changed")


def test_an_added_entry_that_the_head_does_not_know_is_found(database: Database) -> None:
    append_some(database, 5)
    tamper(database, "UPDATE audit_head SET seq = 4", "DELETE FROM audit_log WHERE seq = 4")
    assert found(database) == (4, "gap")


def test_what_is_appended_after_a_break_hides_nothing(database: Database) -> None:
    append_some(database, 5)
    tamper(database, middle(reason="other"))
    append_some(database, 5)
    assert found(database) == (MIDDLE, "changed")


def slips(kept: str, *, optional: bool) -> set[str | None]:
    """A byte less, another byte, letters in the other case, and no value at all."""
    made = {kept[1:], f"{kept[:-1]} ", kept.swapcase()} - {kept}
    return made | ({None} if optional else set())


def middle(**values: object) -> sa.Update:
    return sa.update(AuditEntry).where(AuditEntry.seq == MIDDLE).values(**values)


def forge(database: Database, seq: int) -> None:
    """Change an entry and give it the hash of its new content, as somebody who has read this code would."""
    forged = entry(database, seq)
    forged.reason = "It was somebody else."
    digest = audit._hash_of(forged)  # noqa: SLF001 - a forger knows it
    tamper(database, sa.update(AuditEntry).where(AuditEntry.seq == seq).values(reason=forged.reason, hash=digest))


def change(column: str, expression: str) -> str:
    return f"UPDATE audit_log SET {column} = {expression} WHERE seq = {MIDDLE}"  # noqa: S608 - ours


def found(database: Database) -> tuple[int | None, str | None]:
    result = verified(database)
    assert result.checked == (result.broken_seq or 0) - (0 if result.problem == "head_changed" else 1)
    return result.broken_seq, result.problem
