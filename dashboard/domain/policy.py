"""The written rules of operation types: what to expect, when to look, what a verdict leads to.

Policies are read from a file by `dashboard.services.policies`; here are their values and what follows from them.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal
from enum import StrEnum
from types import MappingProxyType

from dashboard.domain.alerting import INSTALLATION, AlertRule, Rule
from dashboard.domain.evidence_sources import EvidenceFile, Receipts
from dashboard.domain.masking import Hiding, hiding_of, reads_masked
from dashboard.domain.redaction import both_sides
from dashboard.domain.verdicts import Verdict

DEFAULT = "default"


class Mode(StrEnum):
    """Whether the reconciler acts on its verdicts or only records what it would do."""

    OBSERVE = "observe"
    ACT = "act"


class Response(StrEnum):
    """What a policy lets the reconciler do on a verdict without asking a person."""

    CONFIRM = "confirm"
    RETRY = "retry"
    REVIEW = "review"
    CLOSE = "close"


class FieldKind(StrEnum):
    """How two values of a compared field are read before they are compared."""

    TEXT = "text"
    INTEGER = "integer"
    DECIMAL = "decimal"
    BOOLEAN = "boolean"
    TIME = "time"


@dataclass(frozen=True)
class Window:
    """When to look: not before `after` from the last sending, then ever later, but never later than `cap` apart."""

    after: timedelta = timedelta(minutes=5)
    cap: timedelta = timedelta(hours=6)


@dataclass(frozen=True)
class Retry:
    """How often to try, and how long to wait: exponential from `first` by `factor`, at most `cap`, full jitter."""

    max_attempts: int = 5
    first: timedelta = timedelta(seconds=10)
    factor: float = 2.0
    cap: timedelta = timedelta(minutes=30)


@dataclass(frozen=True)
class Comparison:
    """One field to compare: JMESPath expressions into `expected` and into the candidate, and the tolerance.

    A tolerance is absolute: a decimal for `integer` and `decimal`, seconds for `time`; other kinds have none.
    """

    field: str
    expected: str
    actual: str
    kind: FieldKind = FieldKind.TEXT
    tolerance: Decimal | None = None


@dataclass(frozen=True)
class ProbeRule:
    """How to ask the destination: the kind of probe and its own settings, already validated.

    The `connection` of an `sql` probe is the name of the environment variable that holds its URL.
    """

    kind: str
    settings: Mapping[str, object] = field(default_factory=lambda: MappingProxyType({}))


@dataclass(frozen=True)
class Approvals:
    """How many second people an action needs; above `manager_above` (by currency) one must be a manager.

    `notify` names the sink that is told of proposals.
    """

    needed: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    expires: timedelta = timedelta(hours=24)
    manager_above: Mapping[str, Decimal] = field(default_factory=lambda: MappingProxyType({}))
    notify: str | None = None


@dataclass(frozen=True)
class Auth:
    """How a probe proves who we are; the secret is read from the environment variable `env` when it is needed."""

    kind: str
    env: str
    header: str = "Authorization"


@dataclass(frozen=True)
class Destination:
    """An outside system: how to ask it, and what it sends by itself. `base_url` is None where it cannot be asked."""

    name: str
    base_url: str | None = None
    auth: Auth | None = None
    honours_idempotency_key: bool = False
    timeout: timedelta = timedelta(seconds=5)
    allow_private: bool = False
    retries_per_minute: int | None = None
    evidence: EvidenceFile | None = None
    receipts: Receipts | None = None


@dataclass(frozen=True)
class Sink:
    """Where outbox messages go: the kind of sink and its own settings, already validated.

    `url` is read from the environment already; `secret_env` is the name of the variable that holds the secret.
    """

    name: str
    kind: str
    settings: Mapping[str, object] = field(default_factory=lambda: MappingProxyType({}))


@dataclass(frozen=True)
class Alerting:
    """What is watched of the installation, and how people are told of alerts: those of the types too.

    `anchored_within` asks for anchors of the audit log. The webhook is the whole address of an Alertmanager's API.
    """

    rules: Mapping[Rule, AlertRule] = field(default_factory=lambda: MappingProxyType({}))
    anchored_within: timedelta | None = None
    repeat: timedelta = timedelta(hours=4)
    clear_for: timedelta = timedelta(minutes=5)
    webhook: Destination | None = None
    mail: tuple[str, ...] = ()


DEFAULT_RESPONSES: Mapping[Verdict, Response] = MappingProxyType(
    {
        Verdict.CORRECT: Response.CONFIRM,
        Verdict.ABSENT: Response.REVIEW,
        Verdict.DIVERGENT: Response.REVIEW,
        Verdict.AMBIGUOUS: Response.REVIEW,
        Verdict.NOT_APPLICABLE: Response.CLOSE,
    }
)


@dataclass(frozen=True)
class TypePolicy:
    """The rules of one operation type, defaults already applied."""

    name: str = DEFAULT
    description: str = ""
    expected_effect: str = ""
    destination: str = ""
    source_of_truth: str = "destination"
    financial: bool = False
    mode: Mode = Mode.ACT
    window: Window = Window()
    deadline: timedelta = timedelta(hours=24)
    visibility_lag: timedelta = timedelta(seconds=30)
    freshness: timedelta = timedelta(minutes=10)
    retry: Retry = Retry()
    on: Mapping[Verdict, Response] = field(default_factory=lambda: DEFAULT_RESPONSES)
    probe: ProbeRule | None = None
    compare: tuple[Comparison, ...] = ()
    compensation: str | None = None
    partial: bool = False
    approvals: Approvals = field(default_factory=Approvals)
    retention: timedelta = timedelta(days=400)
    redact: tuple[str, ...] = ()
    mask: tuple[str, ...] = ()
    alerts: Mapping[Rule, AlertRule] = field(default_factory=lambda: MappingProxyType({}))

    def hiding(self, *sides: object, revealed: Collection[str] = ()) -> Hiding:
        """What to keep from sight, less the `revealed` masks; `sides` hold the values that free text may repeat."""
        paths = tuple(path for path in self.mask if path not in revealed)
        # A compared field may go by another name than the one it is read from.
        named = (one.field for one in self.compare if reads_masked(f"{one.expected} {one.actual}", paths=paths))
        return hiding_of(redact=both_sides(self.redact), mask=(*paths, *named), sides=sides)


@dataclass(frozen=True)
class Policies:
    """One version of the policy file, named by the SHA-256 of its bytes; without a file, the defaults."""

    hash: str | None = None
    text: str = ""
    types: Mapping[str, TypePolicy] = field(default_factory=lambda: MappingProxyType({}))
    destinations: Mapping[str, Destination] = field(default_factory=lambda: MappingProxyType({}))
    sinks: Mapping[str, Sink] = field(default_factory=lambda: MappingProxyType({}))
    defaults: TypePolicy = field(default_factory=TypePolicy)
    alerts: Alerting = field(default_factory=Alerting)

    def of(self, operation_type: str) -> TypePolicy:
        """The policy of a type; the defaults where the file does not name it."""
        return self.types.get(operation_type, self.defaults)

    def compensation_of(self, operation_type: str) -> str | None:
        """The type that undoes this one, or None where policy names none."""
        return self.of(operation_type).compensation

    def destination(self, name: str) -> Destination:
        """What the file says of an outside system; one that honours nothing where it says nothing."""
        return self.destinations.get(name, Destination(name))

    def honours_key(self, destination: str) -> bool | None:
        """Whether the destination makes one effect of two equal requests; None where nobody wrote it down."""
        known = self.destinations.get(destination)
        return known.honours_idempotency_key if known else None

    def deadline_of(self, operation_type: str) -> timedelta:
        """How long an operation of this type may stay open before it counts as overdue."""
        return self.of(operation_type).deadline

    def freshness_of(self, operation_type: str) -> timedelta:
        """How old a verdict may be and still count as proof."""
        return self.of(operation_type).freshness

    def alert_rule(self, rule: Rule, subject: str) -> AlertRule | None:
        """The limit of a type or of the installation; None where there is none."""
        rules = self.alerts.rules if subject == INSTALLATION else self.of(subject).alerts
        return rules.get(rule)

    @property
    def watched(self) -> frozenset[Rule]:
        """The rules that have a limit for anything."""
        kinds = (self.alerts.rules, self.defaults.alerts, *(each.alerts for each in self.types.values()))
        return frozenset(rule for rules in kinds for rule in rules)


def retry_delay(retry: Retry, *, attempts: int, jitter: float, retry_after: timedelta | None = None) -> timedelta:
    """How long to wait after `attempts` attempts: full jitter (`jitter` from 0 to 1) under an exponential ceiling.

    A destination's own `Retry-After` is a floor that no jitter undercuts. Source: Brooker, "Exponential backoff and
    jitter" (full jitter).
    """
    exponent = max(attempts - 1, 0)
    seconds = min(retry.first.total_seconds() * retry.factor ** min(exponent, 64), retry.cap.total_seconds())
    return max(timedelta(seconds=seconds * jitter), retry_after or timedelta())


def next_look(window: Window, *, looks: int, now: datetime) -> datetime:
    """When to probe again after `looks` probes: the window doubled each time, at most its cap."""
    seconds = min(window.after.total_seconds() * 2.0 ** min(looks, 64), window.cap.total_seconds())
    return now + timedelta(seconds=max(seconds, 1.0))
