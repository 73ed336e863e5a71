"""Folding: what triggers noted of each change goes into the counters by day, exactly once.

One transaction takes a bounded number of deltas, adds them up and deletes them, under the lock of the one state row:
a crash at any statement leaves all of it as it was.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Table, and_, delete, or_, select, update
from sqlalchemy.dialects import mysql, postgresql, sqlite
from sqlalchemy.orm import Session

from dashboard.db import Database, clock, transact
from dashboard.domain.histograms import Histogram, decode, encode, merge
from dashboard.models import RollupDay, RollupDelta, RollupHistogram, RollupState
from dashboard.services.rollup_sources import Figures, Group

AT_ONCE = 2000
KEYS_AT_ONCE = 100
IDS_AT_ONCE = 500
STATE = 1

DAYS: Table = RollupDay.metadata.tables["rollup_days"]
HISTOGRAMS: Table = RollupHistogram.metadata.tables["rollup_histograms"]
BY_DAY = ("fact", "day", "tenant", "type", "label")
BY_TYPE = ("fact", "day", "tenant", "type")


def fold(
    database: Database,
    *,
    progress: Callable[[int], None] = lambda _done: None,
    stop: Callable[[], bool] = lambda: False,
) -> int:
    """Fold all there is, a batch a transaction, and say how much it was."""
    done = 0
    while not stop():
        folded = transact(database, fold_some)
        done += folded
        progress(done)
        if folded < AT_ONCE:
            break
    return done


def fold_some(session: Session, *, at_once: int = AT_ONCE) -> int:
    """Fold the oldest deltas and say how many; none while somebody else folds."""
    if not lock(session, wait=False):
        return 0
    delta = RollupDelta
    columns = (delta.id, delta.fact, delta.day, delta.tenant, delta.type, delta.label, delta.amount, delta.milliseconds)
    rows = session.execute(select(*columns).order_by(delta.id).limit(at_once)).all()
    figures = Figures()
    for _, fact, day, tenant, name, label, amount, milliseconds in rows:
        figures.add((fact, day, tenant, name, label), amount, milliseconds)
    add(session, figures)
    forget(session, [row.id for row in rows])
    note(session, folded_at=clock(session))
    return len(rows)


def lock(session: Session, *, wait: bool = True) -> bool:
    """Become the only one who writes the counters, until the transaction ends; False where somebody else is."""
    row = select(RollupState.id).where(RollupState.id == STATE)
    return session.scalar(row.with_for_update(skip_locked=not wait)) is not None


def note(session: Session, **values: datetime | int | str | None) -> None:
    """Write down how far the counters are."""
    session.execute(update(RollupState).where(RollupState.id == STATE).values(**values))


def forget(session: Session, numbers: Sequence[int]) -> None:
    """Delete deltas by their numbers: others may have come meanwhile."""
    for start in range(0, len(numbers), IDS_AT_ONCE):
        session.execute(delete(RollupDelta).where(RollupDelta.id.in_(numbers[start : start + IDS_AT_ONCE])))


def add(session: Session, figures: Figures) -> None:
    """Add figures to the counters; the caller holds the lock."""
    changed = [(key, count) for key, count in sorted(figures.counts.items()) if count]
    counts = [dict(zip(BY_DAY, key, strict=True), count=count) for key, count in changed]
    if counts:
        session.connection().execute(_raising(session), counts)
    held = _held(session, figures.buckets)
    histograms = [
        dict(zip(BY_TYPE, key, strict=True), buckets=encode(merge([held.get(key, Histogram()), Histogram(buckets)])))
        for key, buckets in sorted(figures.buckets.items())
    ]
    if histograms:
        session.connection().execute(_replacing(session), histograms)


def _held(session: Session, groups: Iterable[Group]) -> dict[Group, Histogram]:
    """The histograms of these as they are."""
    row, wanted = RollupHistogram, sorted(groups)
    found: dict[Group, Histogram] = {}
    for start in range(0, len(wanted), KEYS_AT_ONCE):
        either = [_is(group) for group in wanted[start : start + KEYS_AT_ONCE]]
        statement = select(row.fact, row.day, row.tenant, row.type, row.buckets).where(or_(*either))
        for fact, day, tenant, name, buckets in session.execute(statement):
            found[fact, day, tenant, name] = decode(bytes(buckets))
    return found


def _is(group: Group) -> ColumnElement[bool]:
    return and_(*(HISTOGRAMS.c[name] == value for name, value in zip(BY_TYPE, group, strict=True)))


def _raising(session: Session) -> Any:
    """An INSERT that adds to the count of a row that is there."""
    if session.get_bind().dialect.name == "mysql":
        row = mysql.insert(DAYS)
        return row.on_duplicate_key_update(count=DAYS.c["count"] + row.inserted["count"])
    return _conflicting(session, DAYS, BY_DAY, lambda new: {"count": DAYS.c["count"] + new["count"]})


def _replacing(session: Session) -> Any:
    """An INSERT that replaces the buckets of a row that is there."""
    if session.get_bind().dialect.name == "mysql":
        row = mysql.insert(HISTOGRAMS)
        return row.on_duplicate_key_update(buckets=row.inserted["buckets"])
    return _conflicting(session, HISTOGRAMS, BY_TYPE, lambda new: {"buckets": new["buckets"]})


def _conflicting(
    session: Session, table: Table, unique: Sequence[str], values: Callable[[Any], Mapping[str, Any]]
) -> Any:
    engine: Any = postgresql if session.get_bind().dialect.name == "postgresql" else sqlite
    row = engine.insert(table)
    return row.on_conflict_do_update(index_elements=unique, set_=values(row.excluded))


def counter(buckets: Mapping[int, int]) -> Counter[int]:
    """Buckets without those that hold nothing."""
    return Counter({bucket: count for bucket, count in buckets.items() if count})
