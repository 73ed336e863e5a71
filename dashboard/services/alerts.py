"""Alerts: the rules of the policy are looked at, and what has to be told is written down with the decision to tell it.

1. Figures are read, without any lock. 2. In one transaction, under the lock of the one row of `alert_evaluations`, each
alert goes on by `domain.alerting.step`, and each group says what it has to tell. 3. `alert_sending` sends what was
written. Any number of workers may do this: who finds that another looked meanwhile leaves it at that.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import ColumnElement, delete, func, literal_column, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from dashboard.db import Database, clock, reading, transact
from dashboard.domain.alerting import (
    EVERY_RULE,
    INSTALLATION,
    AlertState,
    Breach,
    Rule,
    Standing,
    group_of,
    step,
)
from dashboard.domain.policy import Policies
from dashboard.models import Alert, AlertEvaluation, AlertSilence
from dashboard.services import alert_groups, alert_looks
from dashboard.services.alert_letters import Place
from dashboard.services.alert_looks import Looked

# Workers look about every half minute; one that comes sooner after another has nothing to add.
AT_LEAST = timedelta(seconds=20)
_Key = tuple[Rule, str]
_IS_OPEN: ColumnElement[bool] = literal_column("alerts.is_open = 1")


@dataclass(frozen=True)
class Evaluated:
    """What an evaluation left: how many alerts fire, silenced ones too, how many notices it wrote, what it missed."""

    firing: int
    notices: int
    unreadable: tuple[str, ...] = ()


def evaluate(
    database: Database,
    *,
    policies: Policies,
    place: Place,
    at_least: timedelta = AT_LEAST,
    now: datetime | None = None,
) -> Evaluated | None:
    """Look at all rules; None where that was done less than `at_least` ago. `now` stands for the database's clock."""
    with reading(database) as session:
        now = now or clock(session)
        before = session.scalar(select(AlertEvaluation.evaluated_at))
    if before is not None and timedelta() <= now - before < at_least:
        return None
    looked = alert_looks.look(database, policies=policies, now=now)
    return transact(database, lambda session: _decide(session, looked, policies=policies, place=place, before=before))


def _decide(
    session: Session, looked: Looked, *, policies: Policies, place: Place, before: datetime | None
) -> Evaluated | None:
    evaluation = _locked(session)
    if evaluation is None or evaluation.evaluated_at != before:
        return None
    open_alerts = _advance(session, looked, policies)
    firing = [alert for alert in open_alerts if alert.state == AlertState.FIRING]
    silenced, freed = _silenced(session, firing, now=looked.now, before=before or looked.now)
    notices = alert_groups.tell(
        session, firing, silenced=silenced, freed=freed, alerting=policies.alerts, place=place, now=looked.now
    )
    evaluation.evaluated_at = looked.now
    evaluation.unreadable = ", ".join(looked.unreadable)[:254]
    session.flush()
    return Evaluated(len(firing), notices, looked.unreadable)


def _locked(session: Session) -> AlertEvaluation | None:
    """The one row; None where another worker is making it at this moment."""
    found = session.scalar(select(AlertEvaluation).with_for_update())
    if found is not None:
        return found
    try:
        with session.begin_nested():
            made = AlertEvaluation(id=1)
            session.add(made)
            session.flush()
            return made
    except IntegrityError:
        return None


def _advance(session: Session, looked: Looked, policies: Policies) -> Sequence[Alert]:
    """Take each alert to where it is now, and give those that are not over."""
    # A newer release, which is being rolled out beside this one, may have rules that are unknown here.
    mine = select(Alert).where(_IS_OPEN, Alert.rule.in_([rule.value for rule in Rule]))
    known: dict[_Key, Alert] = {(Rule(alert.rule), alert.subject): alert for alert in session.scalars(mine)}
    breaches: dict[_Key, Breach] = {(breach.rule, breach.subject): breach for breach in looked.breaches}
    left: list[Alert] = []
    for key in sorted({*known, *breaches}):
        alert = known.get(key)
        if key[0] not in looked.unknown:
            alert = _moved(session, key, alert=alert, breach=breaches.get(key), now=looked.now, policies=policies)
        if alert is not None:
            left.append(alert)
    session.flush()
    return left


def _moved(
    session: Session, key: _Key, *, alert: Alert | None, breach: Breach | None, now: datetime, policies: Policies
) -> Alert | None:
    """Give the alert where it goes on; None where it is forgotten or over."""
    limit = policies.alert_rule(*key)
    after = step(
        _standing(alert) if alert else None,
        breached=breach is not None,
        now=now,
        lasting=limit.lasting if limit else timedelta(),
        clear_for=policies.alerts.clear_for,
    )
    if after is None:
        if alert is not None:
            session.execute(delete(Alert).where(Alert.id == alert.id))
        return None
    alert = alert or _new(session, key, policies)
    _write(alert, after, breach, now=now)
    return alert if after.state is not AlertState.RESOLVED else None


def _standing(alert: Alert) -> Standing:
    return Standing(AlertState(alert.state), alert.since, alert.clear_since)


def _new(session: Session, key: _Key, policies: Policies) -> Alert:
    rule, subject = key
    destination = policies.of(subject).destination if subject != INSTALLATION else ""
    group = group_of(rule, subject, destination=destination)
    alert = Alert(rule=rule.value, subject=subject, group_key=group, destination=destination)
    session.add(alert)
    return alert


def _write(alert: Alert, after: Standing, breach: Breach | None, *, now: datetime) -> None:
    if after.state is AlertState.FIRING and alert.fired_at is None:
        alert.fired_at = now
    if after.state is AlertState.RESOLVED:
        alert.resolved_at = now
    alert.state, alert.since, alert.clear_since = after.state.value, after.since, after.clear_since
    if breach is not None:
        alert.figure, alert.threshold = f"{breach.figure:f}", f"{breach.threshold:f}"
        alert.sample, alert.cause, alert.about = breach.sample, breach.cause, breach.about


def _silenced(
    session: Session, firing: Sequence[Alert], *, now: datetime, before: datetime
) -> tuple[frozenset[int], frozenset[int]]:
    """The numbers of those that nobody is to be told of now, and of those whose silence ended since the look before."""
    end = func.coalesce(AlertSilence.ended_at, AlertSilence.ends_at)
    found = session.execute(select(AlertSilence.subject, AlertSilence.rule, end.label("end")).where(end > before)).all()
    holding, ended = ({(row.subject, row.rule) for row in found if (row.end > now) is holds} for holds in (True, False))
    silenced = _matching(firing, holding)
    return silenced, _matching(firing, ended) - silenced


def _matching(alerts: Iterable[Alert], silences: Collection[tuple[str, str]]) -> frozenset[int]:
    return frozenset(
        alert.id for alert in alerts for rule in (alert.rule, EVERY_RULE) if (alert.subject, rule) in silences
    )
