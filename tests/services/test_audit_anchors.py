"""Anchors and digests: what somebody with the database's own rights can do to the log and not hide."""

from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy.orm import Session

from dashboard.adapters import anchor_keys
from dashboard.db import Database, reading, transact
from dashboard.domain.anchors import FORMAT, Anchor, AnchorInvalidError, read_anchors
from dashboard.domain.purging import reduced
from dashboard.models import AuditEntry, AuditHead, ReconciliationFinding
from dashboard.services import audit, runs
from dashboard.services.anchoring import AnchorRefusedError, take_anchor
from dashboard.services.audit_checks import verify_all
from tests import factories
from tests.import_file import ACTOR
from tests.services.tampering import append_some, tamper

KEY = anchor_keys.parse(
    b"-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIJ1hsZ3v/VpguoRK9JLsLMREScVpezJpGXA7rAMcrn9g\n"
    b"-----END PRIVATE KEY-----",
    named="test",
)


def anchored(database: Database, count: int = 3) -> Anchor:
    append_some(database, count)
    return take_anchor(database, actor=ACTOR, key=KEY)


def checked(database: Database, *anchors: Anchor, **options: Any) -> audit.Verification:
    with reading(database) as session:
        return verify_all(session, anchors=anchors, **options)


def rewritten(database: Database, *, upto: int) -> None:
    """What an owner of the database does: other entries from the first on, each chained anew, and the head set."""
    tamper(database, "DELETE FROM audit_head", "DELETE FROM audit_log")
    transact(database, lambda session: session.add(AuditHead(id=1)))
    append_some(database, upto, reason="another story")


def test_an_anchor_fits_the_log_it_was_taken_of(database: Database) -> None:
    anchor = anchored(database)
    append_some(database, 2)
    found = checked(database, anchor)
    # Once as it was given, and once as the log itself keeps it.
    assert (found.intact, found.checked, found.anchors, found.keys) == (True, 6, 2, (anchor.public_key,))


def test_a_tail_cut_together_with_the_head_is_found_by_an_anchor_alone(database: Database) -> None:
    anchor = anchored(database)
    with reading(database) as session:
        second = session.get_one(AuditEntry, 2).hash
    tamper(
        database,
        sa.update(AuditHead).values(seq=2, hash=second),
        "DELETE FROM audit_log WHERE seq > 2",
    )
    assert checked(database).intact
    found = checked(database, anchor)
    assert (found.problem, found.broken_seq, found.detail) == ("anchor_cut", 3, anchor.name)


def test_a_log_written_anew_is_found_by_an_anchor_alone(database: Database) -> None:
    anchor = anchored(database)
    rewritten(database, upto=4)
    assert checked(database).intact
    assert checked(database, anchor).problem == "anchor_foreign"


def test_entries_rewritten_behind_the_first_are_found_by_an_anchor(sqlite_database: Database) -> None:
    anchor = anchored(sqlite_database)
    with reading(sqlite_database) as session:
        first = session.get_one(AuditEntry, 1).hash
    tamper(
        sqlite_database,
        sa.update(AuditHead).values(seq=1, hash=first),
        "DELETE FROM audit_log WHERE seq > 1",
    )
    append_some(sqlite_database, 3, reason="another story")
    assert checked(sqlite_database).intact
    found = checked(sqlite_database, anchor)
    assert (found.problem, found.broken_seq) == ("anchor_differs", 3)


@pytest.mark.parametrize("field", ["seq", "hash", "at", "database", "signature"])
def test_an_anchor_that_was_altered_is_forged(sqlite_database: Database, field: str) -> None:
    anchor = anchored(sqlite_database)
    other: Any = {"seq": 2, "at": "2020-01-01T00:00:00.000000+00:00", "signature": "0" * 128}.get(field, "0" * 64)
    changed = Anchor(**{**vars(anchor), field: other})
    assert checked(sqlite_database, changed).problem == "anchor_forged"


def test_an_anchor_of_an_unknown_key_is_not_trusted(sqlite_database: Database) -> None:
    anchor = anchored(sqlite_database)
    assert checked(sqlite_database, anchor, trusted={anchor.public_key}).intact
    assert checked(sqlite_database, anchor, trusted={"0" * 64}).problem == "anchor_untrusted"


def test_the_log_keeps_its_anchors_and_checks_them_with_the_chain(sqlite_database: Database) -> None:
    anchored(sqlite_database)
    assert checked(sqlite_database).anchors == 1


def test_a_broken_or_empty_log_is_not_anchored(sqlite_database: Database) -> None:
    with pytest.raises(AnchorRefusedError, match="anchor_of_empty_log"):
        take_anchor(sqlite_database, actor=ACTOR, key=KEY)
    append_some(sqlite_database, 2)
    tamper(sqlite_database, "UPDATE audit_log SET reason = 'other' WHERE seq = 1")
    with pytest.raises(AnchorRefusedError, match="anchor_of_broken_log"):
        take_anchor(sqlite_database, actor=ACTOR, key=KEY)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"format": "other"}', f'{{"format": "{FORMAT}"}}'])
def test_what_is_no_anchor_is_said_to_be_none(text: str) -> None:
    with pytest.raises(AnchorInvalidError):
        read_anchors(text)


def test_several_anchors_are_read_from_one_file(sqlite_database: Database) -> None:
    first, second = anchored(sqlite_database), anchored(sqlite_database)
    assert read_anchors(first.text() + second.text()) == (first, second)


def test_a_key_is_for_its_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "key.pem"
    public = anchor_keys.create(path)
    assert anchor_keys.public_key(anchor_keys.read(path)) == public
    with pytest.raises(anchor_keys.AnchorKeyError, match="anchor_key_exists"):
        anchor_keys.create(path)
    path.chmod(0o640)
    with pytest.raises(anchor_keys.AnchorKeyError, match="anchor_key_exposed"):
        anchor_keys.read(path)


def a_run(session: Session) -> int:
    """A run of two findings, ended with its entry."""
    operation = factories.operation(session)
    number = runs.begin(session, runs.Beginning(ACTOR, "command", None))
    for reason in ("first_miss", "proven_absent"):
        finding = ReconciliationFinding(
            run_id=number, operation_id=operation.id, tenant=operation.tenant, type=operation.type, at=factories.NOW,
            state="awaiting_confirmation", attempts=1, verdict="absent", response="wait", applied=True, reason=reason,
            evidence={"verdict": "absent", "actual": {"total": "318.93"}, "raw_hash": "0" * 64},
        )  # fmt: skip
        session.add(finding)
    session.flush()
    runs.end(session, number=number, actor=ACTOR)
    return number


def test_a_changed_finding_is_named_by_its_run(database: Database) -> None:
    number = transact(database, a_run)
    assert checked(database).runs == 1
    transact(database, lambda session: session.execute(sa.update(ReconciliationFinding).values(verdict="correct")))
    found = checked(database)
    assert (found.problem, found.detail, found.broken_seq) == ("run_changed", str(number), 1)


def test_a_finding_that_was_removed_is_named_by_its_run(database: Database) -> None:
    transact(database, a_run)
    transact(database, lambda session: session.execute(sa.delete(ReconciliationFinding)))
    assert checked(database).problem == "run_changed"


def test_what_retention_takes_away_leaves_the_digest_provable(database: Database) -> None:
    def purge(session: Session) -> None:
        for finding in session.scalars(sa.select(ReconciliationFinding)):
            finding.evidence = reduced(finding.evidence or {})

    transact(database, a_run)
    transact(database, purge)
    assert checked(database).intact
