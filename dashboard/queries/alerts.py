"""Alerts as people see them: what fires, what may, what did, who wants to hear nothing of it, and what was told.

`sight` comes from `domain.alerting.sight(actor.grants)`: what lies outside it does not exist for the person.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

from sqlalchemy import ColumnElement, Select, and_, exists, false, func, literal_column, or_, select, true
from sqlalchemy.orm import InstrumentedAttribute, Session

from dashboard.db import clock_column, rows
from dashboard.domain.alerting import EVERY_RULE, INSTALLATION, AlertState, Breach, Rule, Sight
from dashboard.domain.errors import NotFoundError
from dashboard.models import Alert, AlertEvaluation, AlertNotice, AlertNoticeAlert, AlertSilence
from dashboard.queries import keyset
from dashboard.queries.keyset import Page, Position, Sort
from dashboard.queries.moments import Moment

MOST = 200
MOST_NOTICES = 5
_IS_OPEN: ColumnElement[bool] = literal_column("alerts.is_open = 1")
_RESOLVED = Sort("resolved", Alert.resolved_at, Alert.id, descending=True, read=keyset.read_time)


@dataclass(frozen=True)
class SeenAlert:
    """An alert, and the silence that keeps it from being told, if any; of several the one that lasts longest."""

    alert: Alert
    silence: AlertSilence | None = None

    @property
    def shown(self) -> str:
        """The name of the list it belongs to: `firing`, `pending`, `resolved`, or `silenced`."""
        is_over = self.alert.state == AlertState.RESOLVED
        return "silenced" if self.silence and not is_over else self.alert.state


@dataclass(frozen=True)
class Numbers:
    """How many alerts are in each list; silenced ones are in none of the others."""

    firing: int
    pending: int
    silenced: int


def numbers(session: Session, *, sight: Sight) -> Numbers:
    """Count what is not resolved; one query."""
    silenced = _silenced(clock_column(session)).label("silenced")
    each = select(Alert.state, silenced).where(_IS_OPEN, _shown(sight)).subquery()
    counted = select(each.c.state, each.c.silenced, func.count()).group_by(each.c.state, each.c.silenced)
    found = {(state, bool(is_silenced)): size for state, is_silenced, size in rows(session, counted)}
    return Numbers(
        firing=found.get((AlertState.FIRING, False), 0),
        pending=found.get((AlertState.PENDING, False), 0),
        silenced=sum(size for (_, is_silenced), size in found.items() if is_silenced),
    )


def counted_firing(*, sight: Sight, now: Moment, most: int) -> Select[int]:
    """Counts the alerts that fire and are not silenced, at most so many: part of the one statement of every page."""
    one: ColumnElement[int] = literal_column("1")
    firing = select(one).select_from(Alert).where(_IS_OPEN, Alert.state == AlertState.FIRING.value, _shown(sight))
    return select(func.count()).select_from(firing.where(~_silenced(now)).limit(most).subquery())


def firing_by_rule(session: Session, *, now: datetime) -> Mapping[str, int]:
    """How many alerts of each rule fire and are not silenced, of all subjects; one query."""
    firing = select(Alert.rule, func.count()).where(_IS_OPEN, Alert.state == AlertState.FIRING.value)
    rows = session.execute(firing.where(~_silenced(now)).group_by(Alert.rule))
    return {row[0]: row[1] for row in rows}


def open_alerts(session: Session, *, sight: Sight, limit: int = MOST) -> Sequence[SeenAlert]:
    """What fires, then what may come to, each the longest breached first, at most `limit`; two queries."""
    rows = session.scalars(
        select(Alert)
        .where(_IS_OPEN, _shown(sight))
        .order_by((Alert.state == AlertState.FIRING.value).desc(), Alert.since, Alert.id)
        .limit(limit)
    ).all()
    return with_silences(session, rows)


def resolved_alerts(session: Session, *, sight: Sight, position: Position) -> Page:
    """What is over, the latest end first: a page whose rows are alerts, as `row.Alert`, with `key` and `number`."""
    chosen: Select[*tuple[Any, ...]] = select(Alert, Alert.resolved_at.label("key"), Alert.id.label("number")).where(
        Alert.state == AlertState.RESOLVED.value, _shown(sight)
    )
    wide = keyset.narrow(chosen, sort=_RESOLVED, position=position)
    return keyset.fetch(session, wide, sort=_RESOLVED, position=position, ask=Session.execute)


def get_alert(session: Session, number: int, *, sight: Sight) -> SeenAlert:
    """One alert, whatever its state; NotFoundError where there is none or the person may not see it."""
    alert = session.scalar(select(Alert).where(Alert.id == number, _shown(sight)))
    if alert is None:
        raise NotFoundError(alert=number)
    [seen] = with_silences(session, [alert])
    return seen


def silences(session: Session, *, sight: Sight, limit: int = MOST) -> Sequence[AlertSilence]:
    """The silences that hold now, the first to end first."""
    return session.scalars(
        select(AlertSilence)
        .where(_holds(clock_column(session)), within(sight, subject=AlertSilence.subject))
        .order_by(AlertSilence.ends_at, AlertSilence.id)
        .limit(limit)
    ).all()


def notices_of(session: Session, alerts: Sequence[Alert]) -> Mapping[int, Sequence[Any]]:
    """The MOST_NOTICES newest notices that told of each alert, by its id; each row says how many there are in `of`."""
    found: dict[int, list[Any]] = {alert.id: [] for alert in alerts}
    if not found:
        return found
    link, notice = AlertNoticeAlert, AlertNotice
    rank = func.row_number().over(partition_by=link.alert_id, order_by=link.notice_id.desc()).label("rank")
    count = func.count().over(partition_by=link.alert_id).label("of")
    ranked = select(link.alert_id, link.notice_id, rank, count).where(link.alert_id.in_(found)).subquery("ranked")
    told = (notice.kind, notice.receiver, notice.recipient, notice.state, notice.sent_at, notice.created_at)
    wide = (
        select(ranked.c.alert_id, ranked.c.of, *told, notice.last_error)
        .join(notice, notice.id == ranked.c.notice_id)
        .where(ranked.c.rank <= MOST_NOTICES)
        .order_by(ranked.c.rank)
    )
    for row in rows(session, wide):
        found[row.alert_id].append(row)
    return found


def evaluation(session: Session) -> AlertEvaluation | None:
    """When the rules were last looked at (None inside: never), and which figures could not be read then."""
    return session.scalar(select(AlertEvaluation))


def subjects(session: Session, *, sight: Sight, limit: int = MOST) -> Sequence[str]:
    """The subjects that have an alert that is not resolved, in order: what a form offers to silence."""
    return session.scalars(
        select(Alert.subject).where(_IS_OPEN, _shown(sight)).distinct().order_by(Alert.subject).limit(limit)
    ).all()


def _shown(sight: Sight) -> ColumnElement[bool]:
    """Alerts in sight, without those of a newer release that runs beside this one and has words for them."""
    return and_(within(sight), Alert.rule.in_(list(Rule)))


def within(sight: Sight, *, subject: InstrumentedAttribute[str] = Alert.subject) -> ColumnElement[bool]:
    """A condition that holds for the subjects in sight."""
    if sight.types is None:
        return true() if sight.installation else subject != INSTALLATION
    parts: list[ColumnElement[bool]] = [subject == INSTALLATION] if sight.installation else []
    if sight.types:
        parts.append(subject.in_(sorted(sight.types)))
    return or_(*parts) if parts else false()


def with_silences(session: Session, alerts: Sequence[Alert]) -> Sequence[SeenAlert]:
    """Each alert with the silence that holds for it; one query, and none for no alert."""
    about = {alert.subject for alert in alerts if alert.state != AlertState.RESOLVED}
    if not about:
        return [SeenAlert(alert) for alert in alerts]
    holding = session.scalars(
        select(AlertSilence)
        .where(_holds(clock_column(session)), AlertSilence.subject.in_(about))
        .order_by(AlertSilence.ends_at, AlertSilence.id)
    ).all()
    return [SeenAlert(alert, _longest(alert, holding)) for alert in alerts]


def breach_of(alert: Alert) -> Breach:
    """What the alert says is wrong, for `domain.alert_words`."""
    return Breach(
        rule=Rule(alert.rule),
        subject=alert.subject,
        figure=Decimal(alert.figure),
        threshold=Decimal(alert.threshold),
        sample=alert.sample,
        cause=alert.cause,
        about=alert.about,
    )


def _longest(alert: Alert, holding: Sequence[AlertSilence]) -> AlertSilence | None:
    if alert.state == AlertState.RESOLVED:
        return None
    fitting = (one for one in holding if one.subject == alert.subject and one.rule in {alert.rule, EVERY_RULE})
    return max(fitting, key=lambda one: one.ends_at, default=None)


def _silenced(now: Moment | ColumnElement[datetime] | datetime) -> ColumnElement[bool]:
    same = and_(AlertSilence.subject == Alert.subject, AlertSilence.rule.in_([Alert.rule, EVERY_RULE]))
    return exists().where(same, _holds(now))


def _holds(now: Moment | ColumnElement[datetime] | datetime) -> ColumnElement[bool]:
    return and_(AlertSilence.ended_at.is_(None), AlertSilence.ends_at > now)
