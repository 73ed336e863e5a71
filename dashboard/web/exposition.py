"""The figures as Prometheus reads them: names, help and labels, as docs/operate.md and examples/prometheus use them.

What may become less is a gauge. A counter counts from the first of the month in UTC and then begins anew, which
Prometheus takes for what it is: a reset.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.registry import Collector, CollectorRegistry

from dashboard import __version__
from dashboard.domain.alerting import Rule
from dashboard.domain.histograms import PER_DOUBLING, Histogram
from dashboard.domain.keys import UNSETTLED
from dashboard.edge.operation_filters import OPEN_STATES
from dashboard.queries.metrics import Standing
from dashboard.queries.trends import Counts, Fact

CONTENT_TYPE = CONTENT_TYPE_LATEST
OTHER = "other"
MOST_LABELS = 30
# Upper ends in seconds, from one second to a week.
WITHIN = (1, 5, 15, 30, 60, 300, 900, 1800, 3600, 21600, 86400, 604800)

_COUNTERS = (
    (Fact.RETRY, "retries", "Retries scheduled, by what caused them.", "cause"),
    (Fact.PROBE_FAILED, "probe_failures", "Probes that got no usable answer, by reason.", "reason"),
    (Fact.CONTRADICTED, "contradicted_confirmations", "Confirmed operations that a later look contradicted.", None),
    (Fact.REOPENED, "reopened_operations", "Settled operations that were opened again.", None),
    (Fact.KEY_CONFLICT, "idempotency_key_conflicts", "Other content that came under a known key.", None),
)
_GAUGES = (
    (Fact.VERDICT, "operations_judged_30d", "Operations of the last 30 UTC days by their verdict now.", "verdict"),
    (Fact.CONFIRMED, "operations_confirmed_30d", "Operations confirmed in the last 30 UTC days.", "promptness"),
    (Fact.CREATED, "operations_created_30d", "Operations created in the last 30 UTC days.", None),
)


class Names:
    """The types that have a label of their own; there are at most so many, and the rest is `other`.

    Those of the policy file come first, so that a host that makes up types cannot push them out.
    """

    def __init__(self, *, known: Iterable[str], seen: Iterable[str], most: int) -> None:
        first = sorted(known)
        self._own = frozenset([*first, *sorted(set(seen) - set(first))][:most])

    def of(self, name: str) -> str:
        """The label of a type."""
        return name if name in self._own else OTHER


class _Read(Collector):
    """Gives what was read, once."""

    def __init__(self, families: Iterable[Metric]) -> None:
        self._families = families

    def collect(self) -> Iterable[Metric]:
        return self._families


def exposition(standing: Standing, *, known_types: Iterable[str], most_types: int) -> bytes:
    """Write everything in the text format of Prometheus."""
    seen = {each.type for each in standing.open}
    seen |= {
        name for counts in (*standing.this_month.values(), *standing.last_days.values()) for name in counts.by_type
    }
    names = Names(known=known_types, seen=seen, most=most_types)
    registry = CollectorRegistry(auto_describe=False)
    registry.register(
        _Read(
            [
                *_open(standing, names),
                *_queues(standing),
                *_times(standing),
                *_alerts(standing),
                *_audit(standing),
                *_history(standing, names),
            ]
        )
    )
    return generate_latest(registry)


def _open(standing: Standing, names: Names) -> Iterator[Metric]:
    sizes, needing, late, ages = Counter[tuple[str, str]](), Counter[str](), Counter[str](), dict[str, float]()
    for each in standing.open:
        name = names.of(each.type)
        sizes[name, each.state] += each.size
        needing[name] += each.exceptions
        late[name] += each.overdue
        ages[name] = max(ages.get(name, 0.0), (standing.now - each.oldest).total_seconds())
    types = sorted(ages)
    every = {(name, state): sizes[name, state] for name in types for state in OPEN_STATES}
    yield _gauge("operations_open", "Operations that are not settled, by state.", every, "type", "state")
    yield _gauge("operations_exceptions", "Operations that need a person.", _by(types, needing), "type")
    yield _gauge("operations_overdue", "Open operations past their deadline.", _by(types, late), "type")
    yield _gauge("operations_oldest_age_seconds", "Age of the oldest open operation.", _by(types, ages), "type")


def _queues(standing: Standing) -> Iterator[Metric]:
    waiting, oldest = standing.outbox, standing.outbox.oldest_at
    states = {("pending",): waiting.pending, ("held_up",): waiting.held_up, ("dead",): waiting.dead}
    text = "Outbox messages not published yet; those held up wait behind a dead one, and are pending too."
    yield _gauge("outbox_messages", text, states, "state")
    age = max((standing.now - oldest).total_seconds(), 0.0) if oldest else 0.0
    yield _gauge("outbox_oldest_age_seconds", "Age of the oldest message that waits.", {(): age})
    yield _gauge("outbox_sinks_away", "Sinks that take no messages at the moment.", {(): standing.away_sinks})
    keys = {(state.value,): standing.keys.get(state, 0) for state in sorted(UNSETTLED)}
    yield _gauge("idempotency_keys_unsettled", "Idempotency keys whose outcome is not known.", keys, "state")
    conflicted = {(): standing.conflicted_keys}
    yield _gauge("idempotency_keys_conflicted", "Kept keys under which other content came.", conflicted)
    yield _gauge("actions_to_verify", "Repairs whose effect is not proven.", {(): standing.actions_to_verify})
    yield _gauge("approvals_waiting", "Proposals that wait for approval.", {(): standing.approvals_waiting})


def _times(standing: Standing) -> Iterator[Metric]:
    fresh, last = standing.freshness, standing.last
    yield _gauge("build_info", "The release that answers; always 1.", {(__version__,): 1}, "version")
    yield _moment("reconciliation_last_run", "Last reconciliation that found something due.", last.reconciliation)
    yield _moment("outbox_last_published", "Publishing of the newest message that is published.", last.publishing)
    yield _moment("rollup_last_fold", "Last time changes were folded into the counters by day.", fresh.folded_at)
    yield _moment("rollup_last_check", "Last time the counters were compared with the tables.", fresh.checked_at)
    yield _gauge("rollup_unfolded_changes", "Changes that no counter has yet; figures add them.", {(): fresh.unfolded})
    yield _gauge("rollup_drifts", "Counters the last check found wrong.", {(): fresh.drifts})


def _alerts(standing: Standing) -> Iterator[Metric]:
    firing = {(rule.value,): standing.alerts.get(rule.value, 0) for rule in Rule}
    yield _gauge("alerts_firing", "Alerts that fire and are not silenced, by rule.", firing, "rule")
    yield _moment("alerts_last_look", "Last time the rules of alerts were looked at.", standing.alerts_looked_at)


def _audit(standing: Standing) -> Iterator[Metric]:
    kept = standing.audit
    yield _moment("audit_last_verified", "Last kept verification of the audit log, good or bad.", kept.checked_at)
    yield _moment("audit_last_anchored", "Last anchor of the audit log.", kept.anchored_at)
    text = "Whether a verification found the audit log broken and none since found it intact."
    yield _gauge("audit_verify_failed", text, {(): int(kept.failed is not None)})


def _history(standing: Standing, names: Names) -> Iterator[Metric]:
    for fact, name, text, label in _COUNTERS:
        labels = ("type", label) if label else ("type",)
        counter = CounterMetricFamily(f"dashboard_{name}", f"{text} Begins anew each month (UTC).", labels=labels)
        for values, count in _sums(standing.this_month[fact], names, labelled=label is not None).items():
            counter.add_metric(values, count)
        yield counter
    for fact, name, text, label in _GAUGES:
        labels = ("type", label) if label else ("type",)
        yield _gauge(name, text, _sums(standing.last_days[fact], names, labelled=label is not None), *labels)
    yield _confirmation(standing.confirmation.by_type, names)


def _confirmation(by_type: Mapping[str, Histogram], names: Names) -> Metric:
    """A gauge with `le`, for histogram_quantile: an operation that is opened again leaves it, which no counter may."""
    counts: Counter[tuple[str, str]] = Counter()
    for name, histogram in by_type.items():
        for bucket, count in histogram.buckets.items():
            seconds = 2 ** ((bucket + 0.5) / PER_DOUBLING) / 1000
            for bound in WITHIN:
                counts[names.of(name), str(bound)] += count if seconds <= bound else 0
            counts[names.of(name), "+Inf"] += count
    text = "Operations confirmed in the last 7 UTC days, by the seconds from creation to confirmation."
    return _gauge("operations_confirmed_within_7d", text, counts, "type", "le")


def _sums(counts: Counts, names: Names, *, labelled: bool) -> Mapping[tuple[str, ...], float]:
    ranked = sorted(counts.by_label, key=lambda label: (-counts.by_label[label], label))
    own = frozenset(ranked[:MOST_LABELS])
    sums: Counter[tuple[str, ...]] = Counter()
    for name, labels in counts.by_type.items():
        for label, count in labels.items():
            sums[(names.of(name), label if label in own else OTHER) if labelled else (names.of(name),)] += count
    return sums


def _by(types: Iterable[str], values: Mapping[str, float]) -> Mapping[tuple[str, ...], float]:
    return {(name,): values.get(name, 0) for name in types}


def _moment(name: str, text: str, at: datetime | None) -> Metric:
    """Absent while it never happened: 0 would read as 1970."""
    return _gauge(f"{name}_timestamp_seconds", text, {(): at.timestamp()} if at else {})


def _gauge(name: str, text: str, values: Mapping[Any, float], *labels: str) -> Metric:
    gauge = GaugeMetricFamily(f"dashboard_{name}", text, labels=labels)
    for given, value in values.items():
        gauge.add_metric(given, value)
    return gauge
