"""What receivers are told: alerts as an Alertmanager takes them, and a letter for people. Nothing of any operation.

Source: Alertmanager API v2, `POST /api/v2/alerts` (https://github.com/prometheus/alertmanager, api/v2/openapi.yaml).
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from dashboard.domain.alert_words import (
    TITLES,
    english_duration,
    in_english,
    rows_path,
    what_is_wrong,
    what_to_do,
)
from dashboard.domain.alerting import INSTALLATION_GROUP, NoticeKind, Rule, severity
from dashboard.domain.text import visible
from dashboard.models import Alert
from dashboard.queries.alerts import breach_of

MOST_IN_A_REQUEST = 500
MOST_IN_A_LETTER = 30
MOMENT = "%Y-%m-%d %H:%M UTC"


@dataclass(frozen=True)
class Place:
    """Which installation tells: its environment, and the address of its screens; both may be empty."""

    environment: str = ""
    public_url: str = ""

    def link(self, path: str) -> str:
        """The address of a screen; the bare path where nobody said where the screens are."""
        return f"{self.public_url.rstrip('/')}{path}"


@dataclass(frozen=True)
class Telling:
    """What a group has to tell at a moment: what fires, what is over of what was told, and when it is told again."""

    kind: NoticeKind
    group: str
    firing: Sequence[Alert]
    over: Sequence[Alert]
    now: datetime
    repeat: timedelta

    @property
    def name(self) -> str:
        """The destination or type, or the installation."""
        kind, _, name = self.group.partition(":")
        return INSTALLATION_GROUP if kind == INSTALLATION_GROUP else visible(name)


def request_body(telling: Telling, place: Place) -> str:
    """The alerts as JSON. Firing ones end by themselves after two repeats, lest one stay up when we fall silent."""
    still = {(alert.rule, alert.subject) for alert in telling.firing}
    over = [alert for alert in telling.over if (alert.rule, alert.subject) not in still]
    posted = [*telling.firing, *over][:MOST_IN_A_REQUEST]
    return json.dumps([_posted(alert, telling, place) for alert in posted], ensure_ascii=False)


def letter(telling: Telling, place: Place) -> str:
    """The subject and the text of a letter, as JSON."""
    return json.dumps({"subject": _subject(telling, place), "text": _text(telling, place)}, ensure_ascii=False)


def alert_name(rule: Rule) -> str:
    """What an Alertmanager calls the alerts of a rule: `DashboardDeadLetters`."""
    return "Dashboard" + rule.value.title().replace("_", "")


def _posted(alert: Alert, telling: Telling, place: Place) -> dict[str, object]:
    breach = breach_of(alert)
    labels = {
        "alertname": alert_name(breach.rule),
        "severity": severity(breach).value,
        "type": visible(alert.subject),
        "destination": visible(alert.destination),
        "environment": place.environment,
    }
    ends_at = alert.resolved_at or telling.now + 2 * telling.repeat
    posted: dict[str, object] = {
        # An Alertmanager takes an empty label for one that is not there.
        "labels": {name: value for name, value in labels.items() if value},
        "annotations": {
            "summary": TITLES[breach.rule],
            "description": in_english(what_is_wrong(breach)),
            "action": what_to_do(breach),
        },
        "startsAt": _rfc3339(alert.fired_at or alert.since),
        "endsAt": _rfc3339(ends_at),
    }
    if place.public_url:
        posted["generatorURL"] = place.link(rows_path(breach, now=telling.now))
    return posted


def _subject(telling: Telling, place: Place) -> str:
    where = f"[{visible(place.environment)}] " if place.environment else ""
    if telling.kind is NoticeKind.RESOLVED:
        return f"{where}Resolved: {telling.name}"
    count = len(telling.firing)
    begun = "Firing" if telling.kind is NoticeKind.FIRING else "Still firing"
    first = TITLES[breach_of(telling.firing[0]).rule]
    more = f" and {count - 1} more" if count > 1 else ""
    return f"{where}{begun}: {telling.name}: {first}{more}"


def _text(telling: Telling, place: Place) -> str:
    lines: list[str] = []
    for alert in telling.firing[:MOST_IN_A_LETTER]:
        lines += [*_told(alert, telling, place), ""]
    if len(telling.firing) > MOST_IN_A_LETTER:
        lines += [f"And {len(telling.firing) - MOST_IN_A_LETTER} more.", ""]
    for alert in telling.over[:MOST_IN_A_LETTER]:
        lines.append(_ended(alert))
    if telling.over:
        lines.append("")
    if telling.kind is NoticeKind.RESOLVED:
        lines += [f"Nothing of {telling.name} that you were told of fires any more.", ""]
    lines.append(place.link("/alerts"))
    return "\n".join(lines) + "\n"


def _told(alert: Alert, telling: Telling, place: Place) -> Iterator[str]:
    breach = breach_of(alert)
    yield in_english(what_is_wrong(breach))
    yield f"Since: {alert.since:{MOMENT}}"
    yield f"What to do: {what_to_do(breach)}"
    yield f"Rows: {place.link(rows_path(breach, now=telling.now))}"


def _ended(alert: Alert) -> str:
    breach, until = breach_of(alert), alert.resolved_at or alert.since
    about = f" ({visible(alert.subject)})" if alert.subject else ""
    lasted = english_duration(until - alert.since)
    return f"Over: {TITLES[breach.rule]}{about}, from {alert.since:{MOMENT}} to {until:{MOMENT}}, {lasted}."


def _rfc3339(at: datetime) -> str:
    return at.isoformat().replace("+00:00", "Z")
