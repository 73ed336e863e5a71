"""What a destination can bear, shared by all workers: retries a minute, and no storm while it is away.

After five attempts in a row without an answer a destination counts as away: it is left alone, longer each time up to
a minute, and then one operation asks first. The others stay as they are, in their order, and nobody's attempts are
used up by an outage. Any answer ends it.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import groupby

from sqlalchemy import Insert, Table, or_, select, update
from sqlalchemy.dialects import mysql, postgresql, sqlite
from sqlalchemy.orm import Session

from dashboard.domain.policy import Policies
from dashboard.domain.states import State
from dashboard.models import DestinationBudget, Operation

AWAY_AFTER = 5
LONGEST_PAUSE = timedelta(minutes=1)
MINUTE = timedelta(minutes=1)

BUDGETS: Table = DestinationBudget.metadata.tables["destination_budgets"]


@dataclass(frozen=True)
class Standing:
    """How destinations stand: attempts in a row without an answer, and which are left alone for now."""

    failures: Mapping[str, int]
    paused: frozenset[str]

    def is_away(self, destination: str) -> bool:
        """Whether it left so many attempts unanswered that only one at a time may ask."""
        return self.failures.get(destination, 0) >= AWAY_AFTER


@dataclass(frozen=True)
class Admitted:
    """Which operations may be sent now, and which wait until the destination's next minute."""

    now: tuple[Operation, ...]
    postponed: tuple[Operation, ...]


def standing(session: Session, *, now: datetime) -> Standing:
    """How all destinations stand that ever gave trouble or have a budget."""
    rows = session.execute(select(BUDGETS.c.destination, BUDGETS.c.failures, BUDGETS.c.paused_until)).all()
    return Standing(
        {row.destination: row.failures for row in rows},
        frozenset(row.destination for row in rows if row.paused_until is not None and row.paused_until > now),
    )


def admit(
    session: Session, due: Iterable[Operation], *, standing: Standing, policies: Policies, now: datetime
) -> Admitted:
    """Let through what each destination can bear; of one that is away, one operation asks for all."""
    admitted: list[Operation] = []
    postponed: list[Operation] = []
    for destination, found in groupby(sorted(due, key=_destination), key=_destination):
        operations = list(found)
        if standing.is_away(destination):
            operations = operations[:1] if _may_ask(session, destination, standing, now=now) else []
        limit = policies.destination(destination).retries_per_minute
        retries = [row for row in operations if row.state == State.RETRY_SCHEDULED] if limit is not None else []
        granted = _take(session, destination, wanted=len(retries), limit=limit or 0, now=now) if retries else 0
        waiting = retries[granted:]
        postponed += waiting
        admitted += [row for row in operations if row not in waiting]
    return Admitted(tuple(admitted), tuple(postponed))


def next_minute(now: datetime) -> datetime:
    """When budgets are fresh again."""
    return now.replace(second=0, microsecond=0) + MINUTE


def unanswered(session: Session, destination: str, *, now: datetime) -> bool:
    """Count an attempt that got no answer; True once the destination counts as away."""
    _ensure(session, destination, now=now)
    row = BUDGETS.c.destination == destination
    session.execute(update(BUDGETS).where(row).values(failures=BUDGETS.c.failures + 1))
    failures = session.execute(select(BUDGETS.c.failures).where(row)).scalar_one()
    if failures < AWAY_AFTER:
        return False
    session.execute(update(BUDGETS).where(row).values(paused_until=now + _pause(failures)))
    return True


def answered(session: Session, destination: str) -> None:
    """The destination is there: forget what it left unanswered."""
    session.execute(update(BUDGETS).where(BUDGETS.c.destination == destination).values(failures=0, paused_until=None))


def _destination(operation: Operation) -> str:
    return operation.destination


def _may_ask(session: Session, destination: str, standing: Standing, *, now: datetime) -> bool:
    """Whether this claim is the one that asks; the others find the pause that this one begins."""
    over = or_(BUDGETS.c.paused_until.is_(None), BUDGETS.c.paused_until <= now)
    asking = update(BUDGETS).where(BUDGETS.c.destination == destination, over)
    pause = _pause(standing.failures[destination])
    return session.connection().execute(asking.values(paused_until=now + pause)).rowcount == 1


def _pause(failures: int) -> timedelta:
    return min(timedelta(seconds=2 ** min(failures - AWAY_AFTER + 1, 16)), LONGEST_PAUSE)


def _take(session: Session, destination: str, *, wanted: int, limit: int, now: datetime) -> int:
    """Take up to `wanted` retries from what is left of this minute; the row is locked until the caller commits."""
    _ensure(session, destination, now=now)
    row = BUDGETS.c.destination == destination
    minute = now.replace(second=0, microsecond=0)
    found = session.execute(select(BUDGETS.c.minute, BUDGETS.c.used).where(row).with_for_update()).one()
    used = found.used if found.minute >= minute else 0
    granted = max(min(wanted, limit - used), 0)
    session.execute(update(BUDGETS).where(row).values(minute=max(found.minute, minute), used=used + granted))
    return granted


def _ensure(session: Session, destination: str, *, now: datetime) -> None:
    values = {"destination": destination, "minute": now.replace(second=0, microsecond=0), "used": 0, "failures": 0}
    session.execute(_insert_or_leave(session), values)


def _insert_or_leave(session: Session) -> Insert:
    dialect = session.get_bind().dialect.name
    if dialect == "mysql":
        return mysql.insert(BUDGETS).on_duplicate_key_update(destination=BUDGETS.c.destination)
    if dialect == "postgresql":
        return postgresql.insert(BUDGETS).on_conflict_do_nothing()
    return sqlite.insert(BUDGETS).on_conflict_do_nothing()
