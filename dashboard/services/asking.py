"""Asking destinations: the probe of a policy, and a pause for a destination that is away."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from dashboard.adapters.probes import PROBES, Probe
from dashboard.db import Database, assert_outside_transaction
from dashboard.domain.answers import Answer, Question, failure
from dashboard.domain.policy import Policies
from dashboard.models import Operation
from dashboard.services.judging import NO_PROBE
from dashboard.services.received_probes import received_probes

FAILURES_BEFORE_PAUSE = 3
FIRST_PAUSE = timedelta(minutes=1)
LONGEST_PAUSE = timedelta(minutes=15)


@dataclass
class _Away:
    failures: int = 0
    until: datetime | None = None
    pause: timedelta = FIRST_PAUSE


@dataclass
class Circuit:
    """Which destinations are away: after some failures in a row one is left alone, ever longer, and then tried once.

    A worker keeps one for all its passes, so that a backlog of thousands asks a dead destination only now and then.
    """

    _known: dict[str, _Away] = field(default_factory=dict)

    def is_open(self, destination: str, *, now: datetime) -> bool:
        """Whether the destination is left alone now."""
        until = self._known.get(destination, _Away()).until
        return until is not None and now < until

    def note(self, destination: str, answer: Answer, *, now: datetime) -> None:
        """Learn from an answer: any that shows the destination is there ends the pause."""
        if not answer.is_away:
            self._known.pop(destination, None)
            return
        known = self._known.setdefault(destination, _Away())
        known.failures += 1
        if answer.retry_after is None and known.failures < FAILURES_BEFORE_PAUSE:
            return
        known.until = now + max(known.pause, answer.retry_after or timedelta())
        known.pause = min(known.pause * 2, LONGEST_PAUSE)


def probes_for(database: Database) -> Mapping[str, Probe]:
    """The probes there are, by kind; those that read our own tables are joined here."""
    return {**PROBES, **received_probes(database)}


def ask(database: Database, question: Question, *, policies: Policies, destination: str) -> Answer:
    """Ask about one operation; never inside a transaction, and never an error."""
    assert_outside_transaction()
    rule = policies.of(question.type).probe
    if rule is None:
        return failure(NO_PROBE, "Policy has no probe for this type.")
    probe = probes_for(database).get(rule.kind)
    if probe is None:
        return failure("probe_unknown", f"There is no probe of the kind {rule.kind}.")
    return probe(rule, policies.destination(destination), question)


def question_about(operation: Operation, *, sent_at: datetime | None, now: datetime) -> Question:
    """What a probe needs to know of the operation."""
    return Question(
        operation_id=operation.operation_id,
        tenant=operation.tenant,
        type=operation.type,
        entity_type=operation.entity_type,
        entity_id=operation.entity_id,
        now=now,
        expected=operation.expected or {},
        remote_id=operation.remote_id,
        idempotency_key=operation.idempotency_key,
        sent_at=sent_at,
    )
