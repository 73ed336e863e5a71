"""Counting anew: the counters of a day from the tables, in one snapshot, while others go on writing.

The deltas that the snapshot shows are in what it counts, and only they are deleted: one that is written meanwhile
belongs to a change that the snapshot does not show. So nothing is lost and nothing counts twice.
"""

from collections.abc import Callable, Iterable
from datetime import date
from functools import partial
from typing import Any

from sqlalchemy import Select, delete, func, insert, select
from sqlalchemy.orm import Session

from dashboard.db import Database, clock, reading, transact
from dashboard.domain.facts import Fact
from dashboard.models import (
    IdempotencyConflict,
    OperationEvent,
    OperationFact,
    RollupDay,
    RollupDelta,
    RollupHistogram,
    RollupState,
)
from dashboard.services import rollups
from dashboard.services.rollup_sources import (
    FACT_COLUMNS,
    days_with_rows,
    figures_of,
    missing_conflicts,
    missing_events,
)

SOURCES_AT_ONCE = 20_000
EVERY = [fact.value for fact in Fact]


def rebuild(
    database: Database,
    *,
    days: Iterable[date] | None = None,
    progress: Callable[[int], None] = lambda _days: None,
    stop: Callable[[], bool] = lambda: False,
) -> int:
    """Count these days anew, or all of them with the events behind them, a day a transaction; how many days it were."""
    whole = days is None
    if whole and not _list_events(database, stop=stop):
        return 0
    done = 0
    for day in sorted(set(days) if days is not None else transact(database, all_days)):
        if stop():
            return done
        transact(database, partial(_rebuild_day, day=day))
        done += 1
        progress(done)
    if whole:
        now_right = {"drifts": 0, "first_drift": None}
        transact(database, lambda session: rollups.note(session, built_at=clock(session), **now_right))
    return done


def is_built(database: Database) -> bool:
    """Whether the counters have all of history, from before their triggers too."""
    with reading(database) as session:
        return session.scalar(select(RollupState.built_at)) is not None


def in_one_snapshot(session: Session) -> None:
    """Let every statement of the transaction see the same rows; on SQLite they do so anyway."""
    if session.get_bind().dialect.name != "sqlite":
        session.connection(execution_options={"isolation_level": "REPEATABLE READ"})


def all_days(session: Session) -> set[date]:
    """Each day that the tables or the counters have anything of."""
    counted = session.scalars(select(RollupDay.day).distinct())
    noted = session.scalars(select(RollupDelta.day).distinct())
    return days_with_rows(session) | set(counted) | set(noted)


def last_source(session: Session) -> int:
    """The highest number that an event or a conflict has."""
    highest = [session.scalar(select(func.max(source.id))) for source in (OperationEvent, IdempotencyConflict)]
    return max(number or 0 for number in highest)


def missing(session: Session, *, first: int) -> tuple[Select[*tuple[Any, ...]], ...]:
    """The facts that the next sources from this number on should have and have not: of events, and of conflicts."""
    last = first + SOURCES_AT_ONCE - 1
    return missing_events(session, first=first, last=last), missing_conflicts(first=first, last=last)


def _rebuild_day(session: Session, *, day: date) -> None:
    in_one_snapshot(session)
    rollups.lock(session)
    noted = session.scalars(select(RollupDelta.id).where(RollupDelta.day == day)).all()
    figures = figures_of(session, day)
    for table in (RollupDay, RollupHistogram):
        session.execute(delete(table).where(table.fact.in_(EVERY), table.day == day))
    rollups.add(session, figures)
    rollups.forget(session, noted)


def _list_events(database: Database, *, stop: Callable[[], bool]) -> bool:
    """Give each event and conflict from before the triggers its row in the list; False where it was stopped."""
    for first in range(1, transact(database, last_source) + 1, SOURCES_AT_ONCE):
        if stop():
            return False
        transact(database, partial(_list_some, first=first))
    return True


def _list_some(session: Session, *, first: int) -> None:
    rollups.lock(session)
    for found in missing(session, first=first):
        session.execute(insert(OperationFact).from_select(FACT_COLUMNS, found))
