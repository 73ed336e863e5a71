"""What an operation's events say, newest first where one is asked for."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from functools import cache, lru_cache
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Select, and_, false, func, or_, select
from sqlalchemy.orm import InstrumentedAttribute, Session

from dashboard.db import rows
from dashboard.domain.states import EventKind, State
from dashboard.models import OperationEvent, ReconciliationFinding
from dashboard.queries import keyset
from dashboard.queries.keyset import Page, Position, Sort
from dashboard.queries.moments import NUMBER

TIMELINE_LIMIT = 200
SHOWN_REASON = 2000
LOOKS_READ = 50
_SENDING = or_(
    OperationEvent.kind == EventKind.ATTEMPT.value,
    and_(OperationEvent.kind == EventKind.TRANSITION.value, OperationEvent.from_state == State.PROCESSING.value),
)
IN_ORDER = Sort("in_order", OperationEvent.seq, OperationEvent.seq, descending=False, read=int)


class TimelineEntry(NamedTuple):
    """An event as the timeline shows it; there `reason` is cut to 2,000 characters and `reason_cut` says so."""

    seq: int
    at: datetime
    kind: str
    from_state: str | None
    to_state: str | None
    actor_kind: str | None
    actor_id: str | None
    cause: str | None
    reason: str | None
    reason_cut: bool
    evidence: Mapping[str, Any] | None
    policy_hash: str | None


class Probe(NamedTuple):
    """A question to the destination: what it showed (None: nothing), and how many candidates it found.

    `checked` are the fields that policy compared, each with `field`, `expected`, `actual` and `differs`; None where
    the probe does not say which.
    """

    at: datetime
    actual: Mapping[str, Any] | None
    candidates: int | None
    checked: Sequence[Mapping[str, Any]] | None = None


class LastChange(NamedTuple):
    """Who last touched an operation, and when."""

    actor_id: str | None
    at: datetime


class Looks(NamedTuple):
    """How often the destination was asked since the last sending, when last, and the first miss that counts."""

    times: int
    last_at: datetime | None
    missed_at: datetime | None


def timeline(session: Session, number: int, *, limit: int = TIMELINE_LIMIT) -> Sequence[TimelineEntry]:
    """The newest events of the operation with this row number, newest first; at most `limit`."""
    return [_cut(TimelineEntry._make(row)) for row in rows(session, _newest_events(limit), {"number": number})]


def list_events(session: Session, number: int, *, position: Position) -> Page:
    """One page of the operation's events with all of their text, oldest first: TimelineEntry rows."""
    event = OperationEvent
    key = (event.seq.label("key"), event.seq.label("number"))
    statement: Select[*tuple[Any, ...]] = select(*_columns(event.reason), *key).where(event.operation_id == number)
    narrowed = keyset.narrow(statement, sort=IN_ORDER, position=position)
    page = keyset.fetch(session, narrowed, sort=IN_ORDER, position=position)
    width = len(TimelineEntry._fields)
    return replace(page, rows=[TimelineEntry._make(row[:width]) for row in page.rows])


def event_of(session: Session, number: int, seq: int) -> TimelineEntry | None:
    """One event with its whole reason; None where there is no such event."""
    row = session.execute(
        select(*_columns(OperationEvent.reason)).where(OperationEvent.operation_id == number, OperationEvent.seq == seq)
    ).one_or_none()
    return TimelineEntry._make(row) if row else None


def last_probe(session: Session, number: int) -> Probe | None:
    """The newest probe of the operation, or None where the destination was never asked."""
    row = rows(session, _newest_probe(), {"number": number}).one_or_none()
    if row is None:
        return None
    evidence = row.evidence if isinstance(row.evidence, Mapping) else {}
    actual, candidates, checked = (evidence.get(name) for name in ("actual", "candidates", "differences"))
    return Probe(
        row.at,
        actual if isinstance(actual, Mapping) else None,
        candidates if type(candidates) is int else None,
        [field for field in checked if isinstance(field, Mapping)] if isinstance(checked, list) else None,
    )


def last_change(session: Session, number: int) -> LastChange | None:
    """Who wrote the newest event of the operation, and when."""
    row = session.execute(
        select(OperationEvent.actor_id, OperationEvent.at)
        .where(OperationEvent.operation_id == number)
        .order_by(OperationEvent.seq.desc())
        .limit(1)
    ).one_or_none()
    return LastChange._make(row) if row else None


def sent_at(session: Session, number: int) -> datetime | None:
    """When something was last sent for the operation, or may have been; None where nothing tells.

    That is the last attempt, or the last change out of `processing`, whichever came later.
    """
    event = OperationEvent
    return session.scalar(
        select(event.at).where(event.operation_id == number, _SENDING).order_by(event.seq.desc()).limit(1)
    )


def sendings(session: Session, numbers: Sequence[int]) -> Mapping[int, datetime]:
    """What `sent_at` says of each of these operations; those of which nothing tells are left out."""
    event = OperationEvent
    last = (
        select(event.operation_id.label("number"), func.max(event.seq).label("seq"))
        .where(event.operation_id.in_(numbers), _SENDING)
        .group_by(event.operation_id)
        .subquery()
    )
    found = select(event.operation_id, event.at).join(
        last, and_(event.operation_id == last.c.number, event.seq == last.c.seq)
    )
    return {row[0]: row[1] for row in session.execute(found)}


def looks_since(session: Session, number: int, *, sent_at: datetime, lag: timedelta) -> Looks:
    """What the probes since the last sending say; those of observing runs, which leave no event, count as well.

    A miss counts where the view was late enough to show the effect (`sent_at` + `lag`), and while no later look
    found anything.
    """
    looks = sorted([*_probes(session, number, sent_at), *_observed(session, number, sent_at)], key=lambda look: look[0])
    missed: datetime | None = None
    for _, evidence in looks:
        if evidence.get("found"):
            missed = None
        elif missed is None:
            missed = _miss(evidence, since=sent_at + lag)
    return Looks(len(looks), looks[-1][0] if looks else None, missed)


def _miss(evidence: Mapping[str, Any], *, since: datetime) -> datetime | None:
    """When a look proved by itself that nothing was there; None for every other look."""
    if evidence.get("found") != 0 or evidence.get("authoritative") is False or not evidence.get("as_of"):
        return None
    as_of = datetime.fromisoformat(evidence["as_of"])
    return as_of if as_of >= since else None


def _probes(session: Session, number: int, since: datetime) -> list[tuple[datetime, Mapping[str, Any]]]:
    event = OperationEvent
    rows = session.execute(
        select(event.at, event.evidence)
        .where(event.operation_id == number, event.kind == EventKind.PROBE.value, event.at >= since)
        .order_by(event.seq.desc())
        .limit(LOOKS_READ)
    )
    return [(row.at, row.evidence or {}) for row in rows]


def _observed(session: Session, number: int, since: datetime) -> list[tuple[datetime, Mapping[str, Any]]]:
    finding = ReconciliationFinding
    rows = session.execute(
        select(finding.at, finding.evidence)
        .where(finding.operation_id == number, finding.applied == false(), finding.at >= since)
        .order_by(finding.id.desc())
        .limit(LOOKS_READ)
    )
    return [(row.at, row.evidence) for row in rows if row.evidence]


@lru_cache
def _newest_events(limit: int) -> Select[*tuple[Any, ...]]:
    # One character more than is shown tells whether there is more: length() counts bytes on one of the engines.
    reason = func.substr(OperationEvent.reason, 1, SHOWN_REASON + 1)
    newest = select(*_columns(reason)).where(OperationEvent.operation_id == NUMBER)
    return newest.order_by(OperationEvent.seq.desc()).limit(limit)


@cache
def _newest_probe() -> Select[datetime, Any]:
    probes = (OperationEvent.operation_id == NUMBER, OperationEvent.kind == EventKind.PROBE.value)
    return (
        select(OperationEvent.at, OperationEvent.evidence).where(*probes).order_by(OperationEvent.seq.desc()).limit(1)
    )


def _columns(reason: ColumnElement[Any] | InstrumentedAttribute[Any]) -> tuple[Any, ...]:
    event = OperationEvent
    return (
        event.seq,
        event.at,
        event.kind,
        event.from_state,
        event.to_state,
        event.actor_kind,
        event.actor_id,
        event.cause,
        reason.label("reason"),
        false().label("reason_cut"),
        event.evidence,
        event.policy_hash,
    )


def _cut(entry: TimelineEntry) -> TimelineEntry:
    whole = entry.reason or ""
    if len(whole) <= SHOWN_REASON:
        return entry
    return entry._replace(reason=whole[:SHOWN_REASON], reason_cut=True)
