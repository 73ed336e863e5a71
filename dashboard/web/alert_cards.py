"""An alert in a person's words: what is wrong, since when, what to do, where its rows are, and who was told."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from flask import request, url_for

from dashboard.domain.alert_words import TITLES, Said, rows_path, what_is_wrong, what_to_do
from dashboard.domain.alerting import EVERY_RULE, INSTALLATION, AlertState, Rule, may_silence
from dashboard.domain.permissions import Actor, Permission, holds
from dashboard.domain.policy import Policies
from dashboard.domain.states import known
from dashboard.domain.text import visible
from dashboard.models import Alert, AlertSilence
from dashboard.queries.alerts import SeenAlert, breach_of
from dashboard.web.formatting import duration, number, percent
from dashboard.web.language import gettext, lazy_gettext

OPEN_TO_ALL = "/audit"
ROWS_OF_A_TYPE = lazy_gettext("Show the operations")
ROWS = {
    Rule.DEAD_LETTERS: lazy_gettext("Show the messages"),
    Rule.RELAY: lazy_gettext("Show the messages"),
    Rule.AUDIT: lazy_gettext("Show the log"),
    Rule.AUDIT_BROKEN: lazy_gettext("Show the log"),
}


@dataclass(frozen=True)
class Card:
    """One alert as its screen shows it."""

    alert: Alert
    shown: str
    title: str
    subject: str
    sentence: str
    to_do: str
    rows_url: str | None
    rows_label: str
    silence: AlertSilence | None
    silence_url: str | None
    fires_at: datetime | None
    over_at: datetime | None
    notices: Sequence[Any]
    notices_left: int


def card_of(seen: SeenAlert, *, reader: Actor, policies: Policies, now: datetime, notices: Sequence[Any] = ()) -> Card:
    """Put together what is shown of an alert, and only the addresses that the reader may open."""
    alert, breach = seen.alert, breach_of(seen.alert)
    path = rows_path(breach, now=now)
    may_open = path.startswith(OPEN_TO_ALL) or holds(reader.grants, Permission.BROWSE)
    may_be_silenced = seen.silence is None and may_silence(reader.grants, alert.subject)
    address = url_for("alert_silences.form", subject=alert.subject, rule=alert.rule)
    return Card(
        alert=alert,
        shown=seen.shown,
        title=gettext(TITLES[breach.rule]),
        subject=subject_name(alert.subject),
        sentence=sentence_of(what_is_wrong(breach)),
        to_do=gettext(what_to_do(breach)),
        rows_url=request.script_root + path if may_open else None,
        rows_label=str(ROWS.get(breach.rule, ROWS_OF_A_TYPE)),
        silence=seen.silence,
        silence_url=address if may_be_silenced else None,
        fires_at=_fires_at(alert, policies) if alert.state == AlertState.PENDING else None,
        over_at=alert.clear_since + policies.alerts.clear_for if alert.clear_since else None,
        notices=notices,
        notices_left=notices[0].of - len(notices) if notices else 0,
    )


def sentence_of(said: Said) -> str:
    """Write a text with its values in the person's language."""
    return gettext(said.text) % {name: _written(value) for name, value in said.values.items()}


def subject_name(subject: str) -> str:
    """What an alert is about: the name of a type, or the installation."""
    return gettext("Installation") if subject == INSTALLATION else visible(subject)


def rule_name(rule: str) -> str:
    """What a silence is about: the title of one rule, or all of them."""
    if rule == EVERY_RULE:
        return gettext("All alerts")
    found = known(Rule, rule)
    return gettext(TITLES[found]) if found else visible(rule)


def _fires_at(alert: Alert, policies: Policies) -> datetime | None:
    rule = policies.alert_rule(Rule(alert.rule), alert.subject)
    return alert.since + rule.lasting if rule else None


def _written(value: int | Decimal | timedelta | str) -> str:
    match value:
        case timedelta():
            return duration(value)
        case Decimal():
            return percent(float(value))
        case int():
            return number(value)
    return visible(value)
