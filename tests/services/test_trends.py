"""Figures of history are right the moment a row changes, whoever changes it, before anything is folded."""

from datetime import UTC, date, datetime, timedelta

import pytest
from sqlalchemy import text

from dashboard.db import Database, reading, transaction
from dashboard.domain.facts import Fact, Period
from dashboard.domain.permissions import Scope
from dashboard.queries import facts, trends
from tests import factories

TODAY = date(2026, 11, 30)
PERIOD = Period.of(days=30, now=factories.NOW)
ALL = (Scope(None, None),)


def count(database: Database, fact: Fact, *, scopes: tuple[Scope, ...] = ALL) -> dict[str, int]:
    with reading(database) as session:
        return trends.counts(session, fact=fact, period=PERIOD, scopes=scopes).by_label


def test_a_verdict_is_counted_and_a_changed_one_counted_anew(database: Database) -> None:
    with transaction(database) as session:
        factories.operation(session, operation_id="a", verdict="absent")
        factories.operation(session, operation_id="b", verdict="absent")
        factories.operation(session, operation_id="c")
    with transaction(database) as session:
        session.execute(text("UPDATE operations SET verdict = 'correct' WHERE operation_id = 'a'"))
    assert count(database, Fact.VERDICT) == {"absent": 1, "correct": 1}
    assert count(database, Fact.CREATED) == {"": 3}


def test_a_confirmation_is_counted_by_its_day_with_its_duration(database: Database) -> None:
    created = datetime(2026, 11, 29, 23, 59, tzinfo=UTC)
    with transaction(database) as session:
        for minutes in (2, 200):
            at = created + timedelta(minutes=minutes)
            factories.operation(session, state="confirmed", created_at=created, confirmed_at=at)
    with reading(database) as session:
        found = trends.counts(session, fact=Fact.CONFIRMED, period=PERIOD, scopes=ALL)
        times = trends.durations(session, period=PERIOD, scopes=ALL)
    assert found.by_day == {TODAY: {"in_time": 1, "late": 1}}
    assert found.by_type == {"charge_order": {"in_time": 1, "late": 1}}
    assert times.all.count == times.by_day[TODAY].count == times.by_type["charge_order"].count == 2
    middle = times.all.percentile(0.5)
    assert middle is not None
    assert middle.total_seconds() == pytest.approx(120, rel=0.04)


def test_a_confirmation_before_the_creation_took_no_time(database: Database) -> None:
    with transaction(database) as session:
        factories.operation(session, state="confirmed", confirmed_at=factories.NOW - timedelta(days=1))
    with reading(database) as session:
        assert trends.durations(session, period=PERIOD, scopes=ALL).all.buckets == {0: 1}


def test_a_confirmation_that_is_contradicted_counts_no_more(database: Database) -> None:
    with transaction(database) as session:
        row = factories.operation(session, state="confirmed", confirmed_at=factories.NOW)
        step = {"kind": "transition", "from_state": "confirmed", "to_state": "manual_review"}
        factories.event(session, row, at=factories.NOW, **step)
        session.execute(text("UPDATE operations SET state = 'manual_review'"))
    assert count(database, Fact.CONFIRMED) == {}
    assert count(database, Fact.CONTRADICTED) == {"": 1}
    with reading(database) as session:
        assert trends.durations(session, period=PERIOD, scopes=ALL).all.buckets == {}


def test_a_deleted_operation_counts_no_more(database: Database) -> None:
    with transaction(database) as session:
        factories.operation(session, verdict="absent")
        session.execute(text("DELETE FROM operations"))
    assert count(database, Fact.VERDICT) == count(database, Fact.CREATED) == {}


def test_a_type_renamed_by_the_host_is_counted_under_its_new_name(database: Database) -> None:
    with transaction(database) as session:
        factories.operation(session)
        session.execute(text("UPDATE operations SET type = 'charge'"))
    with reading(database) as session:
        found = trends.counts(session, fact=Fact.CREATED, period=PERIOD, scopes=ALL, type="charge")
        assert trends.counts(session, fact=Fact.CREATED, period=PERIOD, scopes=ALL) == found
    assert found.total == 1


@pytest.mark.parametrize(
    ("values", "fact", "label"),
    [
        ({"kind": "transition", "to_state": "retry_scheduled", "cause": "throttled"}, Fact.RETRY, "throttled"),
        ({"kind": "transition", "to_state": "retry_scheduled"}, Fact.RETRY, "absent"),
        ({"kind": "transition", "to_state": "retry_scheduled", "actor_kind": "user"}, Fact.RETRY, "requeue"),
        ({"evidence": {"verdict": "ambiguous", "failed": "timed_out"}}, Fact.PROBE_FAILED, "timed_out"),
        (
            {
                "kind": "transition",
                "from_state": "compensated",
                "to_state": "manual_review",
                "actor_kind": "user",
                "reason": "The bank took it back.",
            },
            Fact.REOPENED,
            "compensated",
        ),
    ],
)
def test_an_event_is_counted_and_listed(database: Database, values: dict[str, object], fact: Fact, label: str) -> None:
    with transaction(database) as session:
        row = factories.operation(session)
        factories.event(session, row, **values)
        factories.event(session, row, seq=2)
    assert count(database, fact) == {label: 1}
    with reading(database) as session:
        found = facts.rows(session, fact=fact, label=label, period=PERIOD, scopes=ALL)
        (told,) = found.page.rows
    assert (told.operation_id, told.label, told.reason) == (row.operation_id, label, values.get("reason"))
    assert found.total == (1, False)
