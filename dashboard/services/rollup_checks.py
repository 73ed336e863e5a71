"""Checking: whether the counters, with what is not folded yet, say what the tables say, day by day in one snapshot."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import date, timedelta

from sqlalchemy import select
from sqlalchemy.orm import Session

from dashboard.db import Database, clock, reading, transact
from dashboard.domain.facts import ONE_DAY, Fact
from dashboard.domain.histograms import decode
from dashboard.models import RollupDay, RollupDelta, RollupHistogram, RollupState
from dashboard.services import rollups
from dashboard.services.rollup_rebuild import (
    EVERY,
    SOURCES_AT_ONCE,
    all_days,
    in_one_snapshot,
    last_source,
    missing,
)
from dashboard.services.rollup_sources import Figures, figures_of

DURATIONS = "durations"
CHECK_EVERY = timedelta(days=1)
LAST_DAYS = 3


@dataclass(frozen=True)
class Drift:
    """A figure that is another one than the tables say; the tenant '' stands for all of them together."""

    day: date
    fact: str
    label: str
    tenant: str
    type: str
    counted: int
    in_tables: int

    def __str__(self) -> str:
        where = f"tenant {self.tenant}" if self.tenant else "all tenants"
        what = " ".join(word for word in (self.fact, self.label) if word)
        return f"{self.day} {what}, {where}, type {self.type}: {self.counted} counted, {self.in_tables} in the tables"


def check(
    database: Database,
    *,
    days: Iterable[date] | None = None,
    progress: Callable[[int], None] = lambda _days: None,
    stop: Callable[[], bool] = lambda: False,
) -> list[Drift]:
    """Compare these days, or all of them with the events behind them, and keep the result for the screen.

    A look at some days that finds nothing says nothing of the others: what was found there stays known.
    """
    drifts: list[Drift] = []
    whole = days is None
    if days is None:
        drifts += _unlisted(database, stop=stop)
        with reading(database) as session:
            days = all_days(session)
    for done, day in enumerate(sorted(set(days)), 1):
        if stop():
            return drifts
        drifts += _check_day(database, day)
        progress(done)
    found = {"drifts": len(drifts), "first_drift": str(drifts[0]) if drifts else None} if whole or drifts else {}
    transact(database, lambda session: rollups.note(session, checked_at=clock(session), **found))
    return drifts


def check_if_due(database: Database) -> bool:
    """Check the last days once a day, where the counters are whole; whether it did."""
    with reading(database) as session:
        state, now = session.scalar(select(RollupState)), clock(session)
        if state is None or state.built_at is None:
            return False
        if state.checked_at is not None and now - state.checked_at < CHECK_EVERY:
            return False
    check(database, days=[now.date() - number * ONE_DAY for number in range(LAST_DAYS)])
    return True


def _check_day(database: Database, day: date) -> list[Drift]:
    with reading(database) as session:
        in_one_snapshot(session)
        return list(_compare(day, _counted(session, day), figures_of(session, day)))


def _counted(session: Session, day: date) -> Figures:
    """What the counters say of a day, and what is not folded into them."""
    figures, row, held, delta = Figures(), RollupDay, RollupHistogram, RollupDelta
    columns = (delta.fact, delta.day, delta.tenant, delta.type, delta.label, delta.amount, delta.milliseconds)
    for fact, on, tenant, name, label, amount, milliseconds in session.execute(
        select(*columns).where(delta.day == day)
    ):
        figures.add((fact, on, tenant, name, label), amount, milliseconds)
    counted = select(row.fact, row.day, row.tenant, row.type, row.label, row.count)
    for fact, on, tenant, name, label, count in session.execute(counted.where(row.fact.in_(EVERY), row.day == day)):
        figures.counts[fact, on, tenant, name, label] += count
    buckets = select(held.fact, held.day, held.tenant, held.type, held.buckets)
    for fact, on, tenant, name, encoded in session.execute(buckets.where(held.fact.in_(EVERY), held.day == day)):
        figures.buckets.setdefault((fact, on, tenant, name), Counter()).update(decode(bytes(encoded)).buckets)
    return figures


def _compare(day: date, counted: Figures, true: Figures) -> Iterator[Drift]:
    for key in sorted({*counted.counts, *true.counts}):
        fact, _, tenant, name, label = key
        if counted.counts[key] != true.counts[key]:
            yield Drift(day, fact, label, tenant, name, counted.counts[key], true.counts[key])
    for group in sorted({*counted.buckets, *true.buckets}):
        fact, _, tenant, name = group
        has = rollups.counter(counted.buckets.get(group, {}))
        should = rollups.counter(true.buckets.get(group, {}))
        if has != should:
            yield Drift(day, fact, DURATIONS, tenant, name, has.total(), should.total())


def _unlisted(database: Database, *, stop: Callable[[], bool]) -> list[Drift]:
    """Events and conflicts that no list has."""
    found: Counter[tuple[date, str, str, str, str]] = Counter()
    with reading(database) as session:
        for first in range(1, last_source(session) + 1, SOURCES_AT_ONCE):
            if stop():
                break
            for statement in missing(session, first=first):
                for fact, label, at, _, _, tenant, name in session.execute(statement):
                    found[at.date(), Fact(fact).value, label, tenant, name] += 1
    return [Drift(*key, counted=0, in_tables=count) for key, count in sorted(found.items())]
