"""A policy told statement by statement: codes with their values, so that each edge finds the words of its reader.

Order of the sections: what should exist, how that is proven, when, what follows from each verdict, who decides, what
people are told of, and what is kept.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum

from dashboard.domain.alerting import UNITS, AlertRule, Rule, Unit
from dashboard.domain.policy import Destination, Mode, Policies, TypePolicy
from dashboard.domain.verdicts import Verdict


class Section(StrEnum):
    """The parts of an explanation."""

    EFFECT = "effect"
    PROOF = "proof"
    TIME = "time"
    VERDICTS = "verdicts"
    PEOPLE = "people"
    ALERTS = "alerts"
    KEEPING = "keeping"


@dataclass(frozen=True)
class Statement:
    """One sentence: its code, and the values it names (durations, numbers, text of the policy)."""

    section: Section
    code: str
    values: Mapping[str, object] = field(default_factory=dict, hash=False)


def explain(policies: Policies, operation_type: str) -> tuple[Statement, ...]:
    """Tell everything the policy of a type says, defaults included."""
    policy = policies.of(operation_type)
    destination = policies.destinations.get(policy.destination)
    return (
        *_effect(policy, destination),
        *_proof(policy, destination),
        *_time(policy, destination),
        *_verdicts(policy),
        *_people(policy),
        *_alerts(policy),
        *_keeping(policy),
    )


def _effect(policy: TypePolicy, destination: Destination | None) -> Iterator[Statement]:
    section = Section.EFFECT
    if policy.expected_effect:
        yield Statement(section, "effect_expected", {"effect": policy.expected_effect.rstrip(". ")})
    else:
        yield Statement(section, "effect_unwritten")
    if not policy.destination:
        yield Statement(section, "destination_unnamed")
    elif destination and destination.honours_idempotency_key:
        yield Statement(section, "destination_honours", {"destination": policy.destination})
    else:
        yield Statement(section, "destination_repeats", {"destination": policy.destination})
    yield Statement(section, "moves_money" if policy.financial else "moves_no_money")


def _proof(policy: TypePolicy, destination: Destination | None) -> Iterator[Statement]:
    section, probe = Section.PROOF, policy.probe
    if policy.source_of_truth != "destination":
        yield Statement(section, "truth_other", {"source": policy.source_of_truth})
    elif probe:
        yield Statement(section, "truth_destination")
    if probe is None:
        yield Statement(section, "probe_none")
        return
    names = {"destination": policy.destination, "path": "", "connection": "", "entry": ""}
    yield Statement(section, f"probe_{probe.kind}", {**names, **probe.settings})
    if probe.settings.get("cancelled") or probe.settings.get("superseded"):
        yield Statement(section, "probe_sees_cancelled")
    yield _absence(policy, destination)


def _absence(policy: TypePolicy, destination: Destination | None) -> Statement:
    """Absence is the strongest claim, so it is told what proves it."""
    if policy.probe is None or not policy.probe.settings.get("authoritative", policy.probe.kind != "receipt"):
        return Statement(Section.PROOF, "absence_never")
    if policy.visibility_lag and not (destination and destination.honours_idempotency_key):
        return Statement(Section.PROOF, "absence_twice", {"lag": policy.visibility_lag})
    return Statement(Section.PROOF, "absence_once")


def _time(policy: TypePolicy, destination: Destination | None) -> Iterator[Statement]:
    section, retry = Section.TIME, policy.retry
    if policy.probe:
        yield Statement(section, "window", {"after": policy.window.after, "cap": policy.window.cap})
    if policy.probe and policy.visibility_lag:
        yield Statement(section, "lag", {"lag": policy.visibility_lag})
    yield Statement(section, "freshness", {"freshness": policy.freshness})
    yield Statement(section, "deadline", {"deadline": policy.deadline})
    waits = {"attempts": retry.max_attempts, "first": retry.first, "factor": f"{retry.factor:g}", "cap": retry.cap}
    yield Statement(section, "retry", waits)
    if destination and destination.retries_per_minute:
        yield Statement(section, "budget", {"count": destination.retries_per_minute, "destination": destination.name})


def _verdicts(policy: TypePolicy) -> Iterator[Statement]:
    for verdict in Verdict:
        step = "wait" if verdict is Verdict.AMBIGUOUS and policy.probe else policy.on[verdict].value
        yield Statement(Section.VERDICTS, f"on_{step}", {"verdict": verdict.value})


def _people(policy: TypePolicy) -> Iterator[Statement]:
    section, approvals = Section.PEOPLE, policy.approvals
    yield Statement(section, "mode_observe" if policy.mode is Mode.OBSERVE else "mode_act")
    for action, count in approvals.needed.items():
        code = "approval_none" if count == 0 else "approval_one" if count == 1 else "approval_several"
        yield Statement(section, code, {"action": action, "count": count})
    if not approvals.needed:
        yield Statement(section, "approval_unwritten")
    if any(approvals.needed.values()) or approvals.manager_above:
        yield Statement(section, "approval_expires", {"expires": approvals.expires})
    if approvals.notify:
        yield Statement(section, "approval_notify", {"sink": approvals.notify})
    for currency, amount in approvals.manager_above.items():
        yield Statement(section, "manager_above", {"amount": amount, "currency": currency})
    if policy.compensation:
        yield Statement(section, "compensation", {"type": policy.compensation})
        if policy.partial:
            yield Statement(section, "compensation_partial")
    else:
        yield Statement(section, "compensation_none")


def _alerts(policy: TypePolicy) -> Iterator[Statement]:
    for rule, limit in policy.alerts.items():
        values = {"above": _limit(rule, limit), "lasting": limit.lasting, "minimum": limit.minimum}
        yield Statement(Section.ALERTS, f"alert_{rule.value}", values)
    if not policy.alerts:
        yield Statement(Section.ALERTS, "alert_none")


def _limit(rule: Rule, limit: AlertRule) -> timedelta | str:
    match UNITS[rule]:
        case Unit.SECONDS:
            return timedelta(seconds=int(limit.above))
        case Unit.SHARE:
            return f"{(limit.above * 100).normalize():f} %"
    return f"{limit.above:f}"


def _keeping(policy: TypePolicy) -> Iterator[Statement]:
    yield Statement(Section.KEEPING, "retention", {"retention": policy.retention})
    if policy.redact:
        yield Statement(Section.KEEPING, "redacted", {"paths": ", ".join(policy.redact)})
    if policy.mask:
        yield Statement(Section.KEEPING, "masked", {"paths": ", ".join(policy.mask)})
