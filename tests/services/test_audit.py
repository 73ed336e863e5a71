"""The audit log: chained without fork or gap, append-only, without secrets, in whatever order it is written."""

import json
import threading
from datetime import timedelta
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import Session

from dashboard.db import Database, reading, transact
from dashboard.domain.permissions import Actor, Role
from dashboard.domain.states import ActorKind
from dashboard.models import AuditEntry, AuditHead
from dashboard.services import audit
from tests import factories
from tests.services.tampering import append_some, entry, verified

THREADS, EACH = 10, 10


def test_an_empty_log_is_intact(database: Database) -> None:
    assert verified(database) == audit.Verification(0, None)


def test_entries_are_numbered_chained_and_verified(database: Database) -> None:
    append_some(database, 3)
    first, second, third = (entry(database, seq) for seq in (1, 2, 3))
    assert (first.previous_hash, second.previous_hash, third.previous_hash) == (None, first.hash, second.hash)
    assert verified(database) == audit.Verification(3, third.hash)


def test_a_walk_over_several_batches_says_how_far_it_is(sqlite_database: Database) -> None:
    append_some(sqlite_database, 2 * audit.BATCH + 1)
    told: list[int] = []
    with reading(sqlite_database) as session:
        assert audit.verify(session, progress=told.append).checked == 2 * audit.BATCH + 1
    assert told == [audit.BATCH, 2 * audit.BATCH]


def test_a_hundred_appends_at_once_leave_no_gap_and_no_fork(database: Database) -> None:
    threads = [threading.Thread(target=append_one_by_one, args=(database,)) for _ in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert verified(database).intact
    assert numbers(database) == list(range(1, THREADS * EACH + 1))


def test_a_walk_beside_appends_finds_nothing_wrong(database: Database) -> None:
    append_some(database, 20)
    writer = threading.Thread(target=append_one_by_one, args=(database,))
    writer.start()
    found = [verified(database).problem for _ in range(20)]
    writer.join()
    assert set(found) == {None}


def test_a_unit_that_fails_leaves_no_entry_and_no_gap(database: Database) -> None:
    def unit(session: Session) -> None:
        append(session)
        raise RuntimeError

    with pytest.raises(RuntimeError):
        transact(database, unit)
    append_some(database, 1)
    assert numbers(database) == [1]
    assert verified(database).intact


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE audit_log SET reason = 'other' WHERE seq = 1",
        "UPDATE audit_log SET reason = reason",
        "DELETE FROM audit_log WHERE seq = 1",
        "DELETE FROM audit_log",
    ],
)
def test_no_entry_is_updated_or_deleted(database: Database, statement: str) -> None:
    assert_refused(database, statement)


@pytest.mark.parametrize("engine_name", ["sqlite", "mariadb"])
def test_no_entry_is_replaced(database: Database) -> None:
    assert_refused(
        database,
        "REPLACE INTO audit_log (seq, at, actor_kind, actor_id, action, subject, outcome, hash) "
        "VALUES (1, '2026-11-30 12:00:00.000000', 'user', 'x', 'x', 'x', 'done', 'x')",
    )


@pytest.mark.parametrize("engine_name", ["postgresql", "mariadb"])
def test_the_log_is_not_truncated(database: Database) -> None:
    assert_refused(database, "TRUNCATE TABLE audit_log")


@pytest.mark.parametrize("engine_name", ["postgresql"])
def test_the_log_is_not_truncated_with_what_points_at_it(database: Database) -> None:
    assert_refused(database, "TRUNCATE TABLE audit_log CASCADE")


@pytest.mark.parametrize("microsecond", [0, 1, 123457, 999999])
def test_microseconds_survive_and_are_hashed(database: Database, microsecond: int) -> None:
    append_some(database, 1, now=factories.NOW.replace(microsecond=microsecond))
    assert entry(database, 1).at.microsecond == microsecond
    assert verified(database).intact


def test_a_moment_in_another_zone_is_the_same_moment(database: Database) -> None:
    zoned = factories.NOW.astimezone(tz=None)
    append_some(database, 1, now=zoned + timedelta(0))
    assert entry(database, 1).at == factories.NOW
    assert verified(database).intact


def test_secrets_are_redacted_before_they_are_hashed(database: Database) -> None:
    secret = "sk_live_1234567890abcdef"
    append_some(
        database,
        1,
        reason=f"called with Authorization: Bearer {secret}",
        evidence={"api_key": secret, "answer": {"Set-Cookie": secret}, "said": f"token={secret}"},
        before={"password": secret},
        after={"headers": [["Authorization", secret]]},
    )
    kept = entry(database, 1)
    stored = f"{kept.reason}{kept.evidence}{kept.before}{kept.after}"
    assert secret not in stored
    assert stored.count("[redacted]") == 6
    assert verified(database).intact


@pytest.mark.parametrize("hostile", ["no\0where", "half \ud83d a sign", "\udfff", "x" * 300, "😀" * 300, "' OR 1=1 --"])
def test_hostile_text_of_a_refused_attempt_is_kept_readable(database: Database, hostile: str) -> None:
    asking = Actor(ActorKind.USER, hostile, address=hostile, request_id=hostile)
    append_some(database, 1, actor=asking, subject=hostile, reason=hostile, evidence={hostile: hostile})
    kept = entry(database, 1)
    shown = hostile.replace("\0", "\\0").encode("utf-8", "backslashreplace").decode()
    assert (kept.actor_id, kept.subject, kept.reason) == (shown[:254], shown[:254], shown)
    assert json.loads(kept.evidence or "") == {hostile: hostile}
    assert verified(database).intact


def append(session: Session, **values: Any) -> int:
    actor = factories.actor(Role.OPERATOR)
    return audit.append(session, actor=actor, action="close", subject="op-1", now=factories.NOW, **values)


def append_one_by_one(database: Database) -> None:
    for _ in range(EACH):
        transact(database, append)


def numbers(database: Database) -> list[int]:
    with reading(database) as session:
        found = list(session.scalars(sa.select(AuditEntry.seq).order_by(AuditEntry.seq)))
        assert session.scalar(sa.select(AuditHead.seq)) == found[-1]
    return found


def assert_refused(database: Database, statement: str) -> None:
    append_some(database, 2)
    with pytest.raises(DBAPIError), database.engine.begin() as connection:
        connection.execute(sa.text(statement))
    assert verified(database) == audit.Verification(2, entry(database, 2).hash)
