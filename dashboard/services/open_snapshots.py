"""Counting open work ahead of the looks at it, where there is too much of it to count at each of them.

What is counted stands in a table, so that any number of web processes show the same; no GET writes it.
"""

from datetime import datetime, timedelta

from sqlalchemy import ColumnElement, delete, func, insert, literal_column, select
from sqlalchemy.orm import Session

from dashboard.db import Database, clock, reading, transact
from dashboard.domain.ages import Windows
from dashboard.models import OpenSnapshot, Operation
from dashboard.queries import open_ages, open_work
from dashboard.queries.open_ages import Ages
from dashboard.queries.open_rows import IS_OPEN
from dashboard.queries.open_snapshots import ALL_TENANTS, EVERYWHERE, OPEN_AT_LEAST, written
from dashboard.queries.open_work import OpenWork
from dashboard.services import rollups

EVERY = timedelta(seconds=10)
TYPES_AT_ONCE = 100
ROWS_AT_ONCE = 500


def refresh(database: Database, *, windows: Windows, at_least: int = OPEN_AT_LEAST) -> bool:
    """Count open work anew where there is much of it, and forget the counts where there is not; False: not due.

    Counted outside the transaction that writes: on SQLite that one keeps all others from writing.
    """
    with reading(database) as session:
        now = clock(session)
        taken_at = _taken_at(session)
        if taken_at is not None and now - taken_at < EVERY * 0.8:
            return False
        if not _is_much(session, at_least=at_least):
            return taken_at is not None and transact(database, lambda session: _replace(session, {}, now=now))
        work = open_work.by_tenant(session, windows=windows, now=now)
        whole = open_work.added(work.values(), now=now)
        ages = _ages(session, whole)
    counted = {tenant: (each, Ages()) for tenant, each in work.items()} | {ALL_TENANTS: (whole, ages)}
    return transact(database, lambda session: _replace(session, counted, now=now))


def _taken_at(session: Session) -> datetime | None:
    return session.scalar(select(OpenSnapshot.taken_at).where(OpenSnapshot.tenant == ALL_TENANTS))


def _is_much(session: Session, *, at_least: int) -> bool:
    one: ColumnElement[int] = literal_column("1")
    some = select(one).select_from(Operation).where(IS_OPEN).limit(at_least).subquery()
    return (session.scalar(select(func.count()).select_from(some)) or 0) >= at_least


def _ages(session: Session, work: OpenWork) -> Ages:
    totals = work.totals
    found: Ages = open_ages.percentiles(session, {None: sum(totals.values())}, scopes=EVERYWHERE, now=work.now)
    names = sorted(totals)
    for start in range(0, len(names), TYPES_AT_ONCE):
        some: dict[str | None, int] = {name: totals[name] for name in names[start : start + TYPES_AT_ONCE]}
        found |= open_ages.percentiles(session, some, scopes=EVERYWHERE, now=work.now)
    return found


def _replace(session: Session, counted: dict[str, tuple[OpenWork, Ages]], *, now: datetime) -> bool:
    """Put these counts in place of those that are there, unless another worker was faster."""
    rollups.lock(session)
    taken_at = _taken_at(session)
    if taken_at is not None and taken_at >= now:
        return False
    session.execute(delete(OpenSnapshot))
    rows = [
        {"tenant": tenant, "taken_at": now, "figures": written(work, ages)} for tenant, (work, ages) in counted.items()
    ]
    for start in range(0, len(rows), ROWS_AT_ONCE):
        session.execute(insert(OpenSnapshot), rows[start : start + ROWS_AT_ONCE])
    return True
