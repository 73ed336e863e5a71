"""A key is owned once; everybody else learns what it stands for, the content compared first."""

from collections.abc import Callable
from datetime import timedelta

import pytest
import sqlalchemy as sa

from dashboard.db import Database, clock, reading, transact
from dashboard.domain.errors import LostRaceError, NotFoundError
from dashboard.domain.reservations import Conflict, Owned, Replay, Unfinished
from dashboard.services import reservations
from tests.services.reserving import (
    PAID,
    complete,
    conflicts,
    let_lease_end,
    own,
    record,
    records,
    request,
    reserve,
)

OTHER = request({"order": "452", "amount": "1.00", "note": "x"})


def test_the_first_owns_the_key_until_its_lease_ends(database: Database) -> None:
    own(database)
    with reading(database) as session:
        left = record(database).lease_until - clock(session)
    assert timedelta(seconds=50) < left <= timedelta(seconds=60)
    second = reserve(database)
    assert isinstance(second, Unfinished)
    assert second.state == "processing"
    assert timedelta(seconds=1) <= second.retry_after <= timedelta(seconds=30)


def test_the_same_bytes_come_back_and_are_counted(database: Database) -> None:
    complete(database, own(database), resource_ids=["ch_1"], external_reference="ch_1")
    for _ in range(2):
        again = reserve(database)
    assert isinstance(again, Replay)
    assert again.answer == PAID
    assert (again.resource_ids, again.external_reference) == (("ch_1",), "ch_1")
    assert record(database).replay_count == 2


def test_retention_counts_from_the_end(database: Database) -> None:
    complete(database, own(database), retention=timedelta(days=3))
    row = record(database)
    assert row.expires_at is not None
    assert row.completed_at is not None
    # PostgreSQL reads its clock for each of the two.
    assert abs(row.expires_at - row.completed_at - timedelta(days=3)) < timedelta(milliseconds=100)


@pytest.mark.parametrize("end", [None, complete])
def test_other_content_is_a_conflict_that_names_the_fields(database: Database, end: Callable[..., None] | None) -> None:
    owned = own(database)
    if end:
        end(database, owned)
    before = record(database)
    found = reserve(database, OTHER)
    assert found == Conflict(before.id, ("amount", "note"))
    (noted,) = conflicts(database)
    assert (noted.record_id, noted.fields, noted.fingerprint) == (before.id, ["amount", "note"], OTHER.fingerprint)
    after = record(database)
    assert (after.conflict_count, after.last_conflict_at) == (1, noted.at)
    untouched = ("state", "fingerprint", "owner_token", "lease_until", "response_body", "updated_at", "replay_count")
    assert [getattr(before, name) for name in untouched] == [getattr(after, name) for name in untouched]


def test_only_so_many_conflicts_are_kept_and_all_are_counted(
    sqlite_database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reservations, "CONFLICTS_KEPT", 2)
    own(sqlite_database)
    for _ in range(4):
        reserve(sqlite_database, OTHER)
    assert len(conflicts(sqlite_database)) == 2
    assert record(sqlite_database).conflict_count == 4


@pytest.mark.parametrize("other", [{"key": "K-1"}, {"key": "k-1 "}, {"tenant": "Shop"}, {"operation": "refund"}])
def test_keys_are_told_apart_byte_for_byte_and_by_scope(database: Database, other: dict[str, str]) -> None:
    own(database)
    own(database, request(**other))
    assert len(records(database)) == 2


def test_a_released_key_may_be_used_for_anything(database: Database) -> None:
    owned = own(database)
    transact(database, lambda session: reservations.release(session, owned))
    assert records(database) == []
    own(database, OTHER)


def test_a_failure_that_is_certain_is_replayed(database: Database) -> None:
    owned = own(database)
    transact(database, lambda session: reservations.fail(session, owned, PAID))
    again = reserve(database)
    assert isinstance(again, Replay)
    assert (again.state, again.answer) == ("failed", PAID)


def test_what_is_left_pending_is_not_run_again(database: Database) -> None:
    owned = own(database)
    transact(database, lambda session: reservations.leave_pending(session, owned, operation_id="op-1"))
    again = reserve(database)
    assert isinstance(again, Unfinished)
    assert again.state == "pending"
    assert (record(database).operation_id, record(database).owner_token) == ("op-1", None)
    with pytest.raises(LostRaceError):
        complete(database, owned)


def test_a_lease_that_ended_becomes_pending_once_somebody_looks(database: Database) -> None:
    own(database)
    let_lease_end(database)
    again = reserve(database)
    assert isinstance(again, Unfinished)
    assert (again.state, record(database).state) == ("pending", "pending")


def test_leases_that_ended_become_pending_by_themselves(database: Database) -> None:
    own(database)
    let_lease_end(database)
    own(database, request(key="k-2"))
    assert transact(database, reservations.lapse) == 1
    assert [row.state for row in records(database)] == ["pending", "processing"]


def test_a_late_owner_may_still_tell_what_it_did(database: Database) -> None:
    owned = own(database)
    let_lease_end(database)
    reserve(database)
    complete(database, owned)
    assert record(database).state == "completed"


def test_local_work_is_taken_over_and_the_late_owner_changes_nothing(database: Database) -> None:
    late = own(database)
    let_lease_end(database)
    second = reserve(database, request(local_only=True))
    assert isinstance(second, Owned)
    assert second.retaken
    with pytest.raises(LostRaceError):
        complete(database, late)
    assert record(database).state == "processing"
    complete(database, second)


def test_local_work_in_hand_is_not_taken_over(database: Database) -> None:
    own(database)
    assert isinstance(reserve(database, request(local_only=True)), Unfinished)


def test_an_answer_that_expired_is_not_sent_again_and_nothing_is_done(database: Database) -> None:
    complete(database, own(database), retention=timedelta(seconds=-1))
    again = reserve(database)
    assert isinstance(again, Replay)
    assert (again.expired, again.answer) == (True, None)


def test_the_lease_can_be_extended_by_its_owner_alone(database: Database) -> None:
    owned = own(database)
    before = record(database).lease_until
    transact(database, lambda session: reservations.extend(session, owned, lease=timedelta(hours=1)))
    assert record(database).lease_until > before + timedelta(minutes=50)
    complete(database, owned)
    with pytest.raises(LostRaceError):
        transact(database, lambda session: reservations.extend(session, owned))


def test_reading_a_key_counts_nothing(database: Database) -> None:
    owned = own(database)
    transact(database, lambda session: reservations.bind(session, owned, operation_id="op-1"))
    complete(database, owned)
    with reading(database) as session:
        found = reservations.read(session, tenant="shop", operation="charge_order", key="k-1")
        with pytest.raises(NotFoundError):
            reservations.read(session, tenant="shop", operation="charge_order", key="k-2")
    assert isinstance(found, Replay)
    assert (found.answer, found.operation_id, record(database).replay_count) == (PAID, "op-1", 0)


def test_reserving_and_completing_take_one_statement_each(database: Database) -> None:
    statements: list[str] = []

    def count(_connection: object, _cursor: object, statement: str, *_rest: object) -> None:
        if not statement.startswith("BEGIN"):
            statements.append(statement.split(maxsplit=1)[0])

    sa.event.listen(database.engine, "before_cursor_execute", count)
    complete(database, own(database))
    sa.event.remove(database.engine, "before_cursor_execute", count)
    assert statements == ["INSERT", "UPDATE"]
