"""Sinks that are away: left alone for a while that grows up to five minutes, then one message asks for all.

No message pays for an outage of its sink, and any that is taken ends it.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta

from sqlalchemy import delete, select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from dashboard.domain.messages import SINK_RETRY
from dashboard.domain.policy import retry_delay
from dashboard.models import AwaySink

ASKING = timedelta(seconds=60)


def away(session: Session) -> Mapping[str, AwaySink]:
    """The sinks that are away, by name."""
    return {row.sink: row for row in session.scalars(select(AwaySink))}


def may_ask(session: Session, sink: str, *, now: datetime) -> bool:
    """Whether the pause is over and this relay is the one that asks; others wait for what it finds."""
    asking = update(AwaySink).where(AwaySink.sink == sink, AwaySink.retry_at <= now)
    return session.connection().execute(asking.values(retry_at=now + ASKING)).rowcount == 1


def went_away(
    session: Session,
    sink: str,
    *,
    reason: str,
    now: datetime,
    jitter: float,
    retry_after: timedelta | None = None,
) -> None:
    """Leave the sink alone for a while; longer each time, and never shorter than it asked for."""
    row = _row(session, sink, reason=reason, now=now)
    row.failures += 1
    # Half of the jitter stays, or a sink that is away would be asked without any pause.
    delay = retry_delay(SINK_RETRY, attempts=row.failures, jitter=(1 + jitter) / 2, retry_after=retry_after)
    row.retry_at = now + delay
    row.last_error = reason
    session.flush()


def came_back(session: Session, sink: str) -> None:
    """Forget the outage."""
    session.execute(delete(AwaySink).where(AwaySink.sink == sink))


def _row(session: Session, sink: str, *, reason: str, now: datetime) -> AwaySink:
    found = session.get(AwaySink, sink, with_for_update=True)
    if found is not None:
        return found
    try:
        with session.begin_nested():
            row = AwaySink(sink=sink, failures=0, since=now, retry_at=now, last_error=reason)
            session.add(row)
            session.flush()
            return row
    except IntegrityError:
        return session.get_one(AwaySink, sink, with_for_update=True)
