"""The figures as Prometheus reads them: names, help and labels, as docs/operate.md and examples/prometheus use them.

What may become less is a gauge. A counter counts from the first of the month in UTC and then begins anew, which
Prometheus takes for what it is: a reset.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime
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
from dashboard.queries.trends import Fact, Sum

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

    Those of the policy file come first, so that a host that makes up types cannot push them out. Those of counters
    come next, by the day of the month on which they began to count: so none of them leaves `other`, and a sum that
    Prometheus takes for a counter never goes down.
    """

    def __init__(self, *, known: Iterable[str], counted: Iterable[Sum], seen: Iterable[str], most: int) -> None:
        ranked = dict.fromkeys([*sorted(known), *_first_come(counted, lambda each: each.type), *sorted(seen)])
        self._own = frozenset(list(ranked)[:most])

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
    seen = {each.type for each in standing.open} | {each.type for each in standing.last_days}
    names = Names(known=known_types, counted=standing.this_month, seen=seen, most=most_types)
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
        found = [each for each in standing.this_month if each.fact == fact]
        counter = CounterMetricFamily(f"dashboard_{name}", f"{text} Begins anew each month (UTC).", labels=labels)
        own = _first_come(found, lambda each: each.label)[:MOST_LABELS]
        for values, count in _sums(found, names, own=own if label else None).items():
            counter.add_metric(values, count)
        yield counter
    for fact, name, text, label in _GAUGES:
        labels = ("type", label) if label else ("type",)
        found = [each for each in standing.last_days if each.fact == fact]
        yield _gauge(name, text, _sums(found, names, own=_most(found)[:MOST_LABELS] if label else None), *labels)
    yield _confirmation(standing.confirmation.by_type, names)


def _confirmation(by_type: Mapping[str, Histogram], names: Names) -> Metric:
    """A gauge with `le`, for histogram_quantile: an operation that is opened again leaves it, which no counter may."""
    together: dict[str, Counter[int]] = defaultdict(Counter)
    for name, histogram in by_type.items():
        together[names.of(name)].update(histogram.buckets)
    counts = {}
    for name, buckets in together.items():
        for bound in WITHIN:
            counts[name, str(bound)] = sum(count for bucket, count in buckets.items() if _seconds(bucket) <= bound)
        counts[name, "+Inf"] = buckets.total()
    text = "Operations confirmed in the last 7 UTC days, by the seconds from creation to confirmation."
    return _gauge("operations_confirmed_within_7d", text, counts, "type", "le")


def _seconds(bucket: int) -> float:
    return float(2 ** ((bucket + 0.5) / PER_DOUBLING) / 1000)


def _sums(found: Iterable[Sum], names: Names, *, own: Sequence[str] | None) -> Mapping[tuple[str, ...], float]:
    """By type, and by label where there are such: those that are not of its own come together."""
    sums: Counter[tuple[str, ...]] = Counter()
    for each in found:
        label = () if own is None else (each.label if each.label in own else OTHER,)
        sums[names.of(each.type), *label] += each.count
    return sums


def _first_come(found: Iterable[Sum], word: Callable[[Sum], str]) -> list[str]:
    """The words by the day on which each came first, so that those of later days only come behind them."""
    first: dict[str, date] = {}
    for each in found:
        first[word(each)] = min(first.get(word(each), each.first), each.first)
    return sorted(first, key=lambda name: (first[name], name))


def _most(found: Iterable[Sum]) -> list[str]:
    """The labels, the most frequent first."""
    counts: Counter[str] = Counter()
    for each in found:
        counts[each.label] += each.count
    return sorted(counts, key=lambda label: (-counts[label], label))


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
