"""Alerts: what rules there are, how one goes from breached to firing to resolved, and when a group of them is told.

Nobody is told of a single operation. A rule looks at a figure of one subject: an operation type, or the installation.

    pending --breached for the rule's `for`--> firing --not breached for `clear_for`--> resolved
    pending --no longer breached--> forgotten, without a word
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from decimal import Decimal
from enum import StrEnum

from dashboard.domain.permissions import Grant, Permission, Scope, holds, scopes

# The subject of the rules about the whole installation; no type has this name.
INSTALLATION = ""
INSTALLATION_GROUP = "installation"
# A silence of every rule of a subject.
EVERY_RULE = ""


class Rule(StrEnum):
    """What can be watched; the first four of each type, the others of the installation."""

    ACCUMULATION = "accumulation"
    AGE = "age"
    DEADLINE = "deadline"
    DIVERGENCE = "divergence"
    DEAD_LETTERS = "dead_letters"
    RECONCILER = "reconciler"
    RELAY = "relay"
    AUDIT = "audit"
    AUDIT_BROKEN = "audit_broken"


TYPE_RULES = (Rule.ACCUMULATION, Rule.AGE, Rule.DEADLINE, Rule.DIVERGENCE)
INSTALLATION_RULES = (Rule.DEAD_LETTERS, Rule.RECONCILER, Rule.RELAY, Rule.AUDIT, Rule.AUDIT_BROKEN)


class Unit(StrEnum):
    """What the figure and the limit of a rule count."""

    COUNT = "count"
    SECONDS = "seconds"
    SHARE = "share"


UNITS = dict.fromkeys((Rule.ACCUMULATION, Rule.DEADLINE, Rule.DEAD_LETTERS), Unit.COUNT) | {
    Rule.AGE: Unit.SECONDS,
    Rule.RECONCILER: Unit.SECONDS,
    Rule.RELAY: Unit.SECONDS,
    Rule.AUDIT: Unit.SECONDS,
    Rule.AUDIT_BROKEN: Unit.SECONDS,
    Rule.DIVERGENCE: Unit.SHARE,
}


@dataclass(frozen=True)
class AlertRule:
    """When a figure is too much: above `above`, in the unit of the rule, for as long as `lasting`.

    A share of fewer than `minimum` says nothing.
    """

    above: Decimal
    lasting: timedelta = timedelta()
    minimum: int = 0


@dataclass(frozen=True)
class Breach:
    """A figure that is above its limit, both in the unit of the rule; `sample` is what a share is of.

    `cause` says which of several ways it is, `about` what it is about: a sink, or what is wrong with the audit log.
    """

    rule: Rule
    subject: str
    figure: Decimal
    threshold: Decimal
    sample: int | None = None
    cause: str = ""
    about: str = ""


class Severity(StrEnum):
    """How soon somebody should look."""

    WARNING = "warning"
    CRITICAL = "critical"


def severity(breach: Breach) -> Severity:
    """Standstill, and a log that does not hold, are worse than anything that waits."""
    is_worse = breach.rule in {Rule.RECONCILER, Rule.RELAY, Rule.AUDIT_BROKEN}
    return Severity.CRITICAL if is_worse else Severity.WARNING


class AlertState(StrEnum):
    """How far an alert is; whether it is silenced is no state of it, for it keeps its own underneath."""

    PENDING = "pending"
    FIRING = "firing"
    RESOLVED = "resolved"


class NoticeKind(StrEnum):
    """What a notice says of its group: that it began, that it lasts, or that it is over."""

    FIRING = "firing"
    REPEAT = "repeat"
    RESOLVED = "resolved"


class NoticeState(StrEnum):
    """How far a notice got with its receiver; `superseded` ones were overtaken by a newer one before they left."""

    WAITING = "waiting"
    SENT = "sent"
    GIVEN_UP = "given_up"
    SUPERSEDED = "superseded"


class Receiver(StrEnum):
    """The ways to tell of alerts."""

    WEBHOOK = "webhook"
    MAIL = "mail"


@dataclass(frozen=True)
class Standing:
    """Where an open alert is: since when it is breached, and since when it no longer is; None where there is none."""

    state: AlertState
    since: datetime
    clear_since: datetime | None = None


def step(
    standing: Standing | None, *, breached: bool, now: datetime, lasting: timedelta, clear_for: timedelta
) -> Standing | None:
    """Give where an alert is after a look at its figure; None where there is nothing to keep.

    A firing alert ends only once it was not breached for `clear_for` without a break, so that it does not flap.
    """
    if breached:
        since = standing.since if standing else now
        is_firing = now - since >= lasting or (standing is not None and standing.state is AlertState.FIRING)
        return Standing(AlertState.FIRING if is_firing else AlertState.PENDING, since)
    if standing is None or standing.state is AlertState.PENDING:
        return None
    clear_since = standing.clear_since or now
    is_over = now - clear_since >= clear_for
    return replace(standing, clear_since=clear_since, state=AlertState.RESOLVED if is_over else AlertState.FIRING)


@dataclass(frozen=True)
class Told:
    """What a group's receivers know: when they were last told, and whether all that fires is silenced since."""

    at: datetime
    muted: bool = False


def next_notice(
    told: Told | None, *, known: int, audible: int, freed: bool, now: datetime, repeat: timedelta
) -> NoticeKind | None:
    """Say what a group has to tell now; of its firing alerts `audible` are not silenced, `known` are that or were told.

    What was told is also said to be over, silenced or not; what was silenced from the beginning is never told. Where
    the silence of any just ended (`freed`) that is told at once; whatever else joins is told with the next repeat.
    """
    if told is None:
        return NoticeKind.FIRING if audible else None
    if not known:
        return NoticeKind.RESOLVED
    if not audible:
        return None
    if told.muted or freed:
        return NoticeKind.FIRING
    return NoticeKind.REPEAT if now - told.at >= repeat else None


def group_of(rule: Rule, subject: str, *, destination: str) -> str:
    """The group whose alerts are told together: those of a destination, or of a type without one.

    What is wrong with the installation has little to do with what else is, so it is told by itself.
    """
    if subject == INSTALLATION:
        return f"{INSTALLATION_GROUP}:{rule}"
    return f"destination:{destination}" if destination else f"type:{subject}"


@dataclass(frozen=True)
class Sight:
    """Which alerts somebody may see: those of these types (None: of all), and those of the installation or not."""

    types: frozenset[str] | None
    installation: bool

    @property
    def is_empty(self) -> bool:
        """Tell whether there is no alert at all that lies in sight."""
        return self.types == frozenset() and not self.installation

    def includes(self, subject: str) -> bool:
        """Tell whether the alerts of this subject are among them."""
        if subject == INSTALLATION:
            return self.installation
        return self.types is None or subject in self.types


def sight(grants: Iterable[Grant]) -> Sight:
    """Which alerts the grants show: a figure counts all tenants, so only to who may browse a type in all of them.

    A token has one tenant; to see alerts is what it gets on purpose, of its types in all tenants.
    """
    given = tuple(grants)
    everywhere = [scope.type for scope in scopes(given, Permission.BROWSE) if scope.tenant is None]
    everywhere += [grant.type for grant in given if grant.role is None and grant.gives(Permission.ALERTS)]
    sees_all = None in everywhere
    types = None if sees_all else frozenset(name for name in everywhere if name)
    return Sight(types, installation=sees_all or holds(given, Permission.ADMINISTER))


def may_silence(grants: Iterable[Grant], subject: str) -> bool:
    """Tell whether the grants allow to silence the alerts of this subject."""
    given = tuple(grants)
    if subject == INSTALLATION:
        return any(
            grant.gives(Permission.SILENCE_INSTALLATION)
            and (grant.gives(Permission.ADMINISTER) or grant.scope == Scope(None, None))
            for grant in given
        )
    silencing = scopes([grant for grant in given if grant.gives(Permission.BROWSE)], Permission.SILENCE)
    return any(scope.tenant is None and scope.type in (None, subject) for scope in silencing)
