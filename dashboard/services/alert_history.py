"""What is over is kept for a while and then goes: resolved alerts, notices of them, and silences that ended."""

from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from dashboard.db import Database, clock, transact
from dashboard.domain.alerting import AlertState
from dashboard.models import Alert, AlertNotice, AlertNoticeAlert, AlertSilence

KEPT = timedelta(days=90)
AT_ONCE = 500


def purge(database: Database, *, at_once: int = AT_ONCE, stop: Callable[[], bool] = lambda: False) -> int:
    """Delete what is older than KEPT, a batch a transaction, and say how many rows that were."""
    gone = 0
    for step in (_notices, _alerts, _silences):
        while not stop():
            taken = transact(database, partial(step, at_once=at_once))
            gone += taken
            if taken < at_once:
                break
    return gone


def _notices(session: Session, *, at_once: int) -> int:
    """Notices of what still fires go too: its repeats are many."""
    old = select(AlertNotice.id).where(AlertNotice.created_at < _limit(session)).order_by(AlertNotice.created_at)
    numbers = session.scalars(old.limit(at_once)).all()
    session.execute(delete(AlertNoticeAlert).where(AlertNoticeAlert.notice_id.in_(numbers)))
    return _deleted(session, AlertNotice, numbers)


def _alerts(session: Session, *, at_once: int) -> int:
    over = (Alert.state == AlertState.RESOLVED.value, Alert.resolved_at < _limit(session))
    numbers = session.scalars(select(Alert.id).where(*over).order_by(Alert.resolved_at).limit(at_once)).all()
    session.execute(delete(AlertNoticeAlert).where(AlertNoticeAlert.alert_id.in_(numbers)))
    return _deleted(session, Alert, numbers)


def _silences(session: Session, *, at_once: int) -> int:
    old = select(AlertSilence.id).where(AlertSilence.ends_at < _limit(session)).order_by(AlertSilence.ends_at)
    return _deleted(session, AlertSilence, session.scalars(old.limit(at_once)).all())


def _limit(session: Session) -> datetime:
    return clock(session) - KEPT


def _deleted(session: Session, model: Any, numbers: Any) -> int:
    if numbers:
        session.execute(delete(model).where(model.id.in_(numbers)))
    return len(numbers)
