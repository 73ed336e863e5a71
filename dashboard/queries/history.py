"""What an operation's events say, newest first where one is asked for."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from dashboard.domain.states import EventKind
from dashboard.models import OperationEvent

TIMELINE_LIMIT = 200
SHOWN_REASON = 2000


class TimelineEntry(NamedTuple):
    """An event as the timeline shows it.

    `reason` is cut to 2,000 characters; `reason_length` tells whether there is more.
    """

    seq: int
    at: datetime
    kind: str
    from_state: str | None
    to_state: str | None
    actor_kind: str | None
    actor_id: str | None
    cause: str | None
    reason: str | None
    reason_length: int | None
    evidence: Mapping[str, Any] | None
    policy_hash: str | None


class LastChange(NamedTuple):
    """Who last touched an operation, and when."""

    actor_id: str | None
    at: datetime


def timeline(session: Session, number: int, *, limit: int = TIMELINE_LIMIT) -> Sequence[TimelineEntry]:
    """The newest events of the operation with this row number, newest first; at most `limit`."""
    event = OperationEvent
    rows = session.execute(
        select(
            event.seq,
            event.at,
            event.kind,
            event.from_state,
            event.to_state,
            event.actor_kind,
            event.actor_id,
            event.cause,
            func.substr(event.reason, 1, SHOWN_REASON).label("reason"),
            func.length(event.reason).label("reason_length"),
            event.evidence,
            event.policy_hash,
        )
        .where(event.operation_id == number)
        .order_by(event.seq.desc())
        .limit(limit)
    )
    return [TimelineEntry._make(row) for row in rows]


def whole_reason(session: Session, number: int, seq: int) -> str | None:
    """The uncut reason of one event; None where there is no such event or it gave none."""
    return session.scalar(
        select(OperationEvent.reason).where(OperationEvent.operation_id == number, OperationEvent.seq == seq)
    )


def last_actual(session: Session, number: int) -> Mapping[str, Any] | None:
    """What the destination last showed when it was probed, or None if it never answered."""
    evidence = session.scalar(
        select(OperationEvent.evidence)
        .where(OperationEvent.operation_id == number, OperationEvent.kind == EventKind.PROBE.value)
        .order_by(OperationEvent.seq.desc())
        .limit(1)
    )
    actual = (evidence or {}).get("actual")
    return actual if isinstance(actual, Mapping) else None


def last_change(session: Session, number: int) -> LastChange | None:
    """Who wrote the newest event of the operation, and when."""
    row = session.execute(
        select(OperationEvent.actor_id, OperationEvent.at)
        .where(OperationEvent.operation_id == number)
        .order_by(OperationEvent.seq.desc())
        .limit(1)
    ).one_or_none()
    return LastChange._make(row) if row else None
