"""The worker folds, counts once what is older than the triggers, and checks the last days once a day."""

import threading
from dataclasses import dataclass, field

from sqlalchemy import text

from dashboard.db import Database, reading, transaction
from dashboard.domain.facts import Fact, Period
from dashboard.domain.permissions import Scope
from dashboard.queries import trends
from dashboard.services import rollup_work
from tests import factories


@dataclass(frozen=True)
class Told:
    stop: threading.Event = field(default_factory=threading.Event)


def freshness(database: Database) -> trends.Freshness:
    with reading(database) as session:
        return trends.freshness(session)


def test_it_folds_what_was_noted(sqlite_database: Database) -> None:
    with transaction(sqlite_database) as session:
        factories.operation(session)
    assert freshness(sqlite_database).unfolded == 1
    assert rollup_work.fold_figures(sqlite_database, Told()) is False
    found = freshness(sqlite_database)
    assert found.unfolded == 0
    assert found.folded_at is not None


def test_it_counts_what_is_older_than_the_triggers(sqlite_database: Database) -> None:
    with transaction(sqlite_database) as session:
        factories.operation(session)
        session.execute(text("DELETE FROM rollup_deltas"))
        session.execute(text("UPDATE rollup_state SET built_at = NULL"))
    rollup_work.build_figures(sqlite_database, Told())
    assert freshness(sqlite_database).built_at is not None
    period = Period.of(days=30, now=factories.NOW)
    with reading(sqlite_database) as session:
        found = trends.counts(session, fact=Fact.CREATED, period=period, scopes=(Scope(None, None),))
    assert found.total == 1


def test_it_checks_the_last_days_once_a_day(sqlite_database: Database) -> None:
    assert rollup_work.build_figures(sqlite_database, Told()) is True
    assert freshness(sqlite_database).checked_at is not None
    assert rollup_work.build_figures(sqlite_database, Told()) is False
