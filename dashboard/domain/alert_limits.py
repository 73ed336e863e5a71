"""Which limits of the policy are passed by the figures of one moment."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal

from dashboard.domain.alerting import INSTALLATION, Breach, Rule
from dashboard.domain.policy import Policies
from dashboard.domain.verdicts import Verdict

# Of a share so many decimals are kept.
_FINE = Decimal("0.000001")
_NO_TIME = timedelta()


@dataclass(frozen=True)
class OpenFigures:
    """Open operations of one type: how many need a person, how many are overdue, and since when the oldest is there."""

    type: str
    exceptions: int
    overdue: int
    oldest: datetime


@dataclass(frozen=True)
class Looks:
    """When the reconciler was last at work (None: never), and since when something is due for it (None: nothing is)."""

    alive_at: datetime | None
    due_since: datetime | None


@dataclass(frozen=True)
class Sunk:
    """A sink, and since when it takes nothing, or since when its oldest publishable message waits."""

    sink: str
    since: datetime


@dataclass(frozen=True)
class Publishing:
    """The longest wait for the relay and the longest outage of a sink; None where there is none."""

    waiting: Sunk | None
    away: Sunk | None


@dataclass(frozen=True)
class Proof:
    """How the audit log stands: its first entry, its last verification and anchor, and the finding that stands."""

    begun_at: datetime | None
    verified_at: datetime | None
    anchored_at: datetime | None
    failed_at: datetime | None = None
    problem: str = ""


def open_breaches(policies: Policies, figures: Iterable[OpenFigures], *, now: datetime) -> Iterator[Breach]:
    """Accumulation, age and missed deadlines of each type; rows without a type are of none."""
    for each in figures:
        if each.type == INSTALLATION:
            continue
        limits = policies.of(each.type).alerts
        values = {
            Rule.ACCUMULATION: Decimal(each.exceptions),
            Rule.DEADLINE: Decimal(each.overdue),
            Rule.AGE: _seconds(now - each.oldest),
        }
        for rule, figure in values.items():
            if rule in limits and figure > limits[rule].above:
                yield Breach(rule, each.type, figure, limits[rule].above)


def divergence_breaches(policies: Policies, verdicts: Mapping[str, Mapping[str, int]]) -> Iterator[Breach]:
    """The share of divergent verdicts of each type; words of a host that are no verdicts count for nothing."""
    for name, counted in verdicts.items():
        limit = policies.of(name).alerts.get(Rule.DIVERGENCE) if name != INSTALLATION else None
        judged = sum(counted.get(verdict.value, 0) for verdict in Verdict)
        if limit is None or judged <= 0 or judged < limit.minimum:
            continue
        divergent = counted.get(Verdict.DIVERGENT.value, 0)
        if Decimal(divergent) > limit.above * judged:
            share = (Decimal(divergent) / judged).quantize(_FINE)
            yield Breach(Rule.DIVERGENCE, name, share, limit.above, sample=judged)


def dead_letter_breaches(policies: Policies, dead: int) -> Iterator[Breach]:
    """Messages that hold up their keys."""
    limit = policies.alerts.rules.get(Rule.DEAD_LETTERS)
    if limit and dead > limit.above:
        yield Breach(Rule.DEAD_LETTERS, INSTALLATION, Decimal(dead), limit.above)


def reconciler_breaches(policies: Policies, looks: Looks, *, now: datetime) -> Iterator[Breach]:
    """Nothing was looked at for too long, although something was due for all of that time."""
    limit = policies.alerts.rules.get(Rule.RECONCILER)
    if limit is None or looks.due_since is None:
        return
    figure = _seconds(now - max(looks.due_since, looks.alive_at or looks.due_since))
    if figure > limit.above:
        yield Breach(Rule.RECONCILER, INSTALLATION, figure, limit.above)


def relay_breaches(policies: Policies, publishing: Publishing, *, now: datetime) -> Iterator[Breach]:
    """A sink takes nothing for too long, or else nobody publishes; an outage explains what waits."""
    limit = policies.alerts.rules.get(Rule.RELAY)
    for cause, sunk in (("away", publishing.away), ("waiting", publishing.waiting)):
        if limit and sunk and _seconds(now - sunk.since) > limit.above:
            figure = _seconds(now - sunk.since)
            yield Breach(Rule.RELAY, INSTALLATION, figure, limit.above, cause=cause, about=sunk.sink)
            return


def audit_breaches(policies: Policies, proof: Proof, *, now: datetime) -> Iterator[Breach]:
    """The log does not hold, or it was not verified or anchored for too long; the worst of these."""
    limit, anchored = policies.alerts.rules.get(Rule.AUDIT), policies.alerts.anchored_within
    if limit is None or proof.begun_at is None:
        return
    if proof.failed_at:
        yield Breach(Rule.AUDIT_BROKEN, INSTALLATION, _seconds(now - proof.failed_at), limit.above, about=proof.problem)
        return
    unverified = _seconds(now - (proof.verified_at or proof.begun_at))
    if unverified > limit.above:
        cause = "old" if proof.verified_at else "never"
        yield Breach(Rule.AUDIT, INSTALLATION, unverified, limit.above, cause=cause)
        return
    unsealed = _seconds(now - (proof.anchored_at or proof.begun_at))
    if anchored and unsealed > _seconds(anchored):
        yield Breach(Rule.AUDIT, INSTALLATION, unsealed, _seconds(anchored), cause="unsealed")


def _seconds(length: timedelta) -> Decimal:
    """Whole seconds, never negative: a host's clock may be ahead of ours."""
    return Decimal(int(max(length, _NO_TIME).total_seconds()))
