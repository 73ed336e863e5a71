"""What an alert says: what is wrong, what to do, and where exactly those rows are.

The texts are the English ones, marked for the catalogues: a screen shows their translation, a notice shows them.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from types import MappingProxyType
from urllib.parse import urlencode

from dashboard.domain.alerting import INSTALLATION, UNITS, Breach, Rule, Unit
from dashboard.domain.facts import Period
from dashboard.domain.states import OPEN, State
from dashboard.domain.text import visible
from dashboard.domain.verdicts import Verdict


def N_(text: str) -> str:  # noqa: N802 - the name by which Babel collects texts that are translated elsewhere
    """Mark a text for the catalogues."""
    return text


TITLES: Mapping[Rule, str] = MappingProxyType(
    {
        Rule.ACCUMULATION: N_("Operations wait for a person"),
        Rule.AGE: N_("The oldest open operation is too old"),
        Rule.DEADLINE: N_("Operations are past their deadline"),
        Rule.DIVERGENCE: N_("Too many operations diverge"),
        Rule.DEAD_LETTERS: N_("Messages are dead"),
        Rule.RECONCILER: N_("Nothing is reconciled"),
        Rule.RELAY: N_("Messages are not published"),
        Rule.AUDIT: N_("The audit log is not proven"),
        Rule.AUDIT_BROKEN: N_("The audit log does not hold"),
    }
)
# By rule, and by cause where a rule can be breached in several ways.
WRONG: Mapping[tuple[Rule, str], str] = MappingProxyType(
    {
        (Rule.ACCUMULATION, ""): N_(
            "Operations of %(subject)s that need a person: %(figure)s; the limit is %(threshold)s."
        ),
        (Rule.AGE, ""): N_(
            "The oldest open operation of %(subject)s waits for %(figure)s; the limit is %(threshold)s."
        ),
        (Rule.DEADLINE, ""): N_(
            "Open operations of %(subject)s past their deadline: %(figure)s; the limit is %(threshold)s."
        ),
        (Rule.DIVERGENCE, ""): N_(
            "Of %(sample)s operations of %(subject)s that were created in the last 30 days and checked, %(figure)s"
            " differ from what was expected; the limit is %(threshold)s."
        ),
        (Rule.DEAD_LETTERS, ""): N_(
            "Dead messages, which hold up what comes after them: %(figure)s; the limit is %(threshold)s."
        ),
        (Rule.RECONCILER, ""): N_(
            "Operations are due to be looked at, and none was for %(figure)s; the limit is %(threshold)s."
        ),
        (Rule.RELAY, "waiting"): N_(
            "A message to the sink %(about)s waits for %(figure)s to be published; the limit is %(threshold)s."
        ),
        (Rule.RELAY, "away"): N_("The sink %(about)s takes no messages for %(figure)s; the limit is %(threshold)s."),
        (Rule.AUDIT, "never"): N_(
            "The audit log was never verified and is %(figure)s old; it is to be verified every %(threshold)s."
        ),
        (Rule.AUDIT, "old"): N_(
            "The audit log was last verified %(figure)s ago; it is to be verified every %(threshold)s."
        ),
        (Rule.AUDIT, "unsealed"): N_(
            "The audit log was not anchored for %(figure)s; it is to be anchored every %(threshold)s."
        ),
        (Rule.AUDIT_BROKEN, ""): N_("The audit log was verified %(figure)s ago, and it does not hold."),
    }
)
TO_DO: Mapping[tuple[Rule, str], str] = MappingProxyType(
    {
        (Rule.ACCUMULATION, ""): N_(
            "Look whether one cause is behind most of them, then take the oldest first; many can be repaired at once."
        ),
        (Rule.AGE, ""): N_(
            "Open the oldest ones: what waited this long will hardly settle by itself. See whether the destination"
            " answers."
        ),
        (Rule.DEADLINE, ""): N_("See whether the destination answers, then decide on those that wait for a person."),
        (Rule.DIVERGENCE, ""): N_(
            "Compare expected and found on a few of them: a change at the destination or in the host is the usual"
            " reason."
        ),
        (Rule.DEAD_LETTERS, ""): N_("Read why each was not taken, then redrive or discard it with a reason."),
        (Rule.RECONCILER, ""): N_("See whether `dashboard worker` runs, and what it logs."),
        (Rule.RELAY, "waiting"): N_("See whether `dashboard worker` or `dashboard relay` runs, and what it logs."),
        (Rule.RELAY, "away"): N_("See why the sink takes nothing; messages go out by themselves once it does."),
        (Rule.AUDIT, "never"): N_("Run `dashboard audit verify`, best every day by a timer."),
        (Rule.AUDIT, "old"): N_("Run `dashboard audit verify`, and see why its timer does not."),
        (Rule.AUDIT, "unsealed"): N_("Run `dashboard audit anchor`, and keep what it prints away from this database."),
        (Rule.AUDIT_BROKEN, ""): N_(
            "Keep a copy of the database, stop whoever can write to it, and follow what the documentation of the audit"
            " log says about findings."
        ),
    }
)
_PATHS: Mapping[Rule, tuple[str, Mapping[str, str | tuple[str, ...]]]] = MappingProxyType(
    {
        Rule.ACCUMULATION: ("/exceptions", {}),
        Rule.AGE: ("/operations", {"state": tuple(state.value for state in State if state in OPEN), "sort": "oldest"}),
        Rule.DEADLINE: ("/operations", {"overdue": "1", "sort": "worst"}),
        Rule.DIVERGENCE: ("/operations", {"verdict": Verdict.DIVERGENT.value}),
        Rule.DEAD_LETTERS: ("/outbox", {"state": "dead"}),
        Rule.RECONCILER: ("/operations", {"state": State.AWAITING_CONFIRMATION.value, "sort": "oldest"}),
        Rule.RELAY: ("/outbox", {"state": "pending"}),
        Rule.AUDIT: ("/audit", {}),
        Rule.AUDIT_BROKEN: ("/audit", {}),
    }
)
DIVERGENCE_DAYS = 30
_UNITS = (("d", 86400), ("h", 3600), ("min", 60), ("s", 1))

Value = int | Decimal | timedelta | str


@dataclass(frozen=True)
class Said:
    """A text with places for values; each edge writes numbers, shares (Decimal) and durations in its own way."""

    text: str
    values: Mapping[str, Value]


def what_is_wrong(breach: Breach) -> Said:
    """Say what is wrong: the figure, and the limit it is above."""
    values: dict[str, Value] = {
        "figure": _value(breach.rule, breach.figure),
        "threshold": _value(breach.rule, breach.threshold),
        "subject": breach.subject,
        "about": breach.about,
    }
    if breach.sample is not None:
        values["sample"] = breach.sample
    return Said(_text(WRONG, breach), values)


def what_to_do(breach: Breach) -> str:
    """Say what a person can do about it, in the English of the catalogues."""
    return _text(TO_DO, breach)


def rows_path(breach: Breach, *, now: datetime) -> str:
    """The path on our screens that lists the rows it is about, as they are now."""
    path, given = _PATHS[breach.rule]
    query: dict[str, str | tuple[str, ...]] = dict(given)
    if breach.subject != INSTALLATION:
        query["type"] = breach.subject
    if breach.rule is Rule.AGE:
        query["min_age"] = f"{int(breach.threshold)}s"
    if breach.rule is Rule.DIVERGENCE:
        query["created_from"] = Period.of(days=DIVERGENCE_DAYS, now=now).since.isoformat()
    if breach.rule is Rule.RELAY:
        query["sink"] = breach.about
    return f"{path}?{urlencode(query, doseq=True)}" if query else path


def in_english(said: Said) -> str:
    """Write a text with its values for who reads a notice."""
    return said.text % {name: _english(value) for name, value in said.values.items()}


def english_duration(length: timedelta) -> str:
    """Write a length of time in its two largest units."""
    seconds, parts = max(int(length.total_seconds()), 0), []
    for name, size in _UNITS:
        count, seconds = divmod(seconds, size)
        if count:
            parts.append(f"{count} {name}")
    return " ".join(parts[:2]) or "0 s"


def _text(texts: Mapping[tuple[Rule, str], str], breach: Breach) -> str:
    """The text for its cause; for one that only a newer release knows, the first of its rule."""
    others = (text for (rule, _), text in texts.items() if rule is breach.rule)
    return texts.get((breach.rule, breach.cause)) or next(others)


def _value(rule: Rule, number: Decimal) -> Value:
    match UNITS[rule]:
        case Unit.COUNT:
            return int(number)
        case Unit.SECONDS:
            return timedelta(seconds=float(number))
        case Unit.SHARE:
            return number


def _english(value: Value) -> str:
    if isinstance(value, timedelta):
        return english_duration(value)
    if isinstance(value, Decimal):
        return f"{(value * 100).quantize(Decimal('0.1')).normalize():f} %"
    return f"{value:,}" if isinstance(value, int) else visible(value)
