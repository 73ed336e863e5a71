"""Heartbeats: that a piece of the engine is at work is noted about once a minute, so that standstill shows."""

from datetime import timedelta

from sqlalchemy import select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from dashboard.db import Database, clock, reading, transact
from dashboard.models import Heartbeat

EVERY = timedelta(minutes=1)


def beat(database: Database, name: str) -> None:
    """Note that the piece has just gone through all it has to do, unless that was noted a moment ago."""
    with reading(database) as session:
        last = session.scalar(select(Heartbeat.at).where(Heartbeat.name == name))
        is_fresh = last is not None and clock(session) - last < EVERY
    if not is_fresh:
        transact(database, lambda session: _note(session, name))


def _note(session: Session, name: str) -> None:
    now = clock(session)
    beating = update(Heartbeat).where(Heartbeat.name == name).values(at=now)
    if session.connection().execute(beating).rowcount:
        return
    try:
        with session.begin_nested():
            session.add(Heartbeat(name=name, at=now))
            session.flush()
    except IntegrityError:
        session.connection().execute(beating)
