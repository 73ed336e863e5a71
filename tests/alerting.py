"""Rows of alerts for tests: each function fills what the test does not care about."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any, TypeVar

from sqlalchemy import update
from sqlalchemy.orm import Session

from dashboard.db import Database, transact, transaction
from dashboard.models import Alert, AlertEvaluation, AlertNotice, AlertNoticeAlert, AlertSilence

REASON = "The destination is away for planned work tonight."
HOUR = timedelta(hours=1)
Row = TypeVar("Row", Alert, AlertNotice, AlertSilence)
_numbers = count(1)


def add_alerts(database: Database, *rows: Mapping[str, Any]) -> list[int]:
    """Add alerts that fire of charge_order, unless told otherwise, and give their numbers."""
    return transact(database, lambda session: [_add(session, _alert(row)).id for row in rows])


def add_silence(database: Database, **values: Any) -> int:
    """Add a silence of all alerts of charge_order that lasts an hour, unless told otherwise."""
    at = datetime.now(UTC)
    given = {
        "rule": "",
        "subject": "charge_order",
        "reason": REASON,
        "created_by": "manager@shop.example",
        "idempotency_key": f"silence-{next(_numbers)}",
        "created_at": at,
        "ends_at": at + HOUR,
        **values,
    }
    return transact(database, lambda session: _add(session, AlertSilence(**given)).id)


def add_notice(database: Database, alert: int, **values: Any) -> None:
    """Add a notice of an alert that the webhook took, unless told otherwise."""
    at = datetime.now(UTC)
    given = {
        "group_key": "type:charge_order",
        "kind": "firing",
        "receiver": "webhook",
        "recipient": "",
        "content": "{}",
        "state": "sent",
        "next_attempt_at": at,
        "created_at": at,
        "sent_at": at,
        **values,
    }

    def unit(session: Session) -> None:
        notice = _add(session, AlertNotice(**given))
        session.add(AlertNoticeAlert(notice_id=notice.id, alert_id=alert))

    transact(database, unit)


def evaluated(database: Database, *, ago: timedelta = timedelta(), unreadable: str = "") -> None:
    """Let the rules have been looked at so long ago."""
    values = {"evaluated_at": datetime.now(UTC) - ago, "unreadable": unreadable}
    with transaction(database) as session:
        session.execute(update(AlertEvaluation).values(**values))


def _alert(given: Mapping[str, Any]) -> Alert:
    since = given.get("since", datetime.now(UTC) - 2 * HOUR)
    state = given.get("state", "firing")
    values = {
        "rule": "accumulation",
        "subject": "charge_order",
        "group_key": "type:charge_order",
        "destination": "",
        "state": state,
        "figure": "48",
        "threshold": "20",
        "cause": "",
        "about": "",
        "since": since,
        "fired_at": None if state == "pending" else since,
        "resolved_at": since + HOUR if state == "resolved" else None,
        **given,
    }
    return Alert(**values)


def _add(session: Session, row: Row) -> Row:
    session.add(row)
    session.flush()
    return row
