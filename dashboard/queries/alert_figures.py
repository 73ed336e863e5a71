"""The figures that alerts look at: open work from its indexes, history from the counters by day, never the history."""

from collections import defaultdict
from collections.abc import Collection, Mapping
from datetime import datetime

from sqlalchemy import ColumnElement, exists, func, literal_column, or_, select
from sqlalchemy.orm import Session, aliased

from dashboard.domain.alert_limits import Looks, OpenFigures, Proof, Publishing, Sunk
from dashboard.domain.alert_words import DIVERGENCE_DAYS
from dashboard.domain.messages import MessageState
from dashboard.models import (
    AuditEntry,
    AwaySink,
    Heartbeat,
    OutboxMessage,
    ReconciliationFinding,
    RollupState,
)
from dashboard.queries import metrics, trends
from dashboard.queries.audit_checks import audit_standing
from dashboard.queries.due import Selection, due_since
from dashboard.queries.trends import Fact, Period

RECONCILER = "reconciler"
_Message = OutboxMessage
_UNSENT: ColumnElement[bool] = literal_column("outbox_messages.is_open = 1")


def open_figures(session: Session, *, now: datetime) -> tuple[OpenFigures, ...]:
    """Open work of each type."""
    by_type: dict[str, list[metrics.OpenWork]] = defaultdict(list)
    for work in metrics.open_work(session, now=now):
        by_type[work.type].append(work)
    return tuple(
        OpenFigures(
            name,
            sum(work.exceptions for work in found),
            sum(work.overdue for work in found),
            min(work.oldest for work in found),
        )
        for name, found in by_type.items()
    )


def verdicts(session: Session, *, now: datetime) -> Mapping[str, Mapping[str, int]]:
    """How often each verdict was given by type in the last 30 days; nothing while the counters are not whole."""
    if session.scalar(select(RollupState.built_at)) is None:
        return {}
    period = Period.of(days=DIVERGENCE_DAYS, now=now)
    return trends.counts(session, fact=Fact.VERDICT, period=period, scopes=metrics.EVERYTHING).by_type


def dead_letters(session: Session) -> int:
    """How many messages are dead."""
    dead = select(func.count()).select_from(_Message).where(_Message.state == MessageState.DEAD.value)
    return session.scalar(dead) or 0


def looks(session: Session, chosen: Selection) -> Looks:
    """When the reconciler was last at work, and since when something is due for it by the time of the selection."""
    passed = session.scalar(select(Heartbeat.at).where(Heartbeat.name == RECONCILER))
    looked = session.scalar(select(ReconciliationFinding.at).order_by(ReconciliationFinding.id.desc()).limit(1))
    alive_at = max((at for at in (passed, looked) if at is not None), default=None)
    return Looks(alive_at, due_since(session, chosen))


def publishing(session: Session, *, served: Collection[str], polled: Collection[str], now: datetime) -> Publishing:
    """What waits longest for the relay, and which of the `served` sinks is away longest.

    A message waits for the relay where it is due, is the first of its key, and its sink is not away; hosts fetch from
    the `polled` ones themselves. A sink that has nothing to take is not missed.
    """
    has_messages = exists().where(_UNSENT, _Message.sink == AwaySink.sink)
    known = select(AwaySink.sink, AwaySink.since).where(AwaySink.sink.in_(sorted(served)), has_messages)
    away = session.execute(known.order_by(AwaySink.since, AwaySink.sink)).all()
    left_out = {*polled, *(row.sink for row in away)}
    first = (
        select(_Message.sink, _Message.next_attempt_at)
        .where(_UNSENT, _Message.next_attempt_at <= now, ~_behind_another())
        .where(or_(_Message.lease_until.is_(None), _Message.lease_until <= now))
        .order_by(_Message.next_attempt_at, _Message.id)
        .limit(1)
    )
    row = session.execute(first.where(_Message.sink.not_in(sorted(left_out))) if left_out else first).one_or_none()
    return Publishing(
        waiting=Sunk(row.sink, row.next_attempt_at) if row else None,
        away=Sunk(away[0].sink, away[0].since) if away else None,
    )


def proof(session: Session) -> Proof:
    """How the audit log stands by what its verifications found."""
    standing = audit_standing(session)
    failed = standing.failed
    return Proof(
        begun_at=session.scalar(select(AuditEntry.at).order_by(AuditEntry.seq).limit(1)),
        verified_at=standing.checked_at,
        anchored_at=standing.anchored_at,
        failed_at=failed.at if failed else None,
        problem=(failed.problem or "") if failed else "",
    )


def _behind_another() -> ColumnElement[bool]:
    """Whether an earlier message of the same key is neither published nor discarded."""
    earlier = aliased(OutboxMessage)
    return exists().where(
        earlier.sink == _Message.sink,
        earlier.aggregate_key == _Message.aggregate_key,
        earlier.state.in_((MessageState.PENDING.value, MessageState.DEAD.value)),
        earlier.id < _Message.id,
    )
