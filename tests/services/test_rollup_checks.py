"""What a check keeps for the screen, and what no check may miss."""

from datetime import timedelta

from sqlalchemy import text

from dashboard.db import Database, reading, transaction
from dashboard.domain.facts import Fact
from dashboard.models import IdempotencyConflict, IdempotencyRecord
from dashboard.queries import trends
from dashboard.services import rollup_checks, rollup_rebuild, rollups
from tests import factories

DAY = factories.NOW.date()


def drifts(database: Database) -> int:
    with reading(database) as session:
        return trends.freshness(session).drifts


def lose_a_change(database: Database, *, days_ago: int) -> None:
    """What goes past the triggers: a row is there that no counter has."""
    with transaction(database) as session:
        factories.operation(session, created_at=factories.NOW - timedelta(days=days_ago))
        session.execute(text("DELETE FROM rollup_deltas"))


def test_counting_all_anew_ends_the_notice_of_a_drift(database: Database) -> None:
    lose_a_change(database, days_ago=9)
    rollup_checks.check(database)
    assert drifts(database) > 0
    rollup_rebuild.rebuild(database)
    assert (drifts(database), rollup_checks.check(database)) == (0, [])


def test_a_look_at_other_days_does_not_hide_a_drift(database: Database) -> None:
    lose_a_change(database, days_ago=9)
    found = len(rollup_checks.check(database))
    assert rollup_checks.check(database, days=[DAY]) == []
    assert drifts(database) == found
    rollup_rebuild.rebuild(database, days=[DAY - timedelta(days=9)])
    assert rollup_checks.check(database) == []
    assert drifts(database) == 0


def test_a_conflict_that_no_list_has_is_found_and_mended(database: Database) -> None:
    with transaction(database) as session:
        at, zero = factories.NOW, "0" * 64
        record = IdempotencyRecord(
            tenant="shop-a", operation="pay", key="k-1", fingerprint=zero, state="completed", lease_until=at,
            created_at=at, updated_at=at,
        )  # fmt: skip
        session.add(record)
        session.flush()
        session.add(IdempotencyConflict(record_id=record.id, at=at, fingerprint=zero))
        session.flush()
        session.execute(text("DELETE FROM operation_facts"))
        session.execute(text("DELETE FROM rollup_deltas"))
    assert {drift.fact for drift in rollup_checks.check(database)} == {Fact.KEY_CONFLICT}
    rollup_rebuild.rebuild(database)
    rollups.fold(database)
    assert rollup_checks.check(database) == []
