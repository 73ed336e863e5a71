"""Looking at an operation because evidence about it came: the same verdicts and the same policy as after a probe.

Where policy asks the destination some other way, what came is read as if the type had the probe `file` or `receipt`:
what the destination says by itself is as good as what it answers.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from types import MappingProxyType

from sqlalchemy import update
from sqlalchemy.orm import Session

from dashboard.db import Database, clock, reading, transact
from dashboard.domain.permissions import Actor
from dashboard.domain.policy import Mode, Policies, ProbeRule
from dashboard.domain.received import Match, Source
from dashboard.domain.responses import Reason
from dashboard.domain.states import State
from dashboard.models import EvidenceItem, Operation, ReconciliationFinding, ReconciliationRun
from dashboard.queries import evidence
from dashboard.services import audit, runs
from dashboard.services.asking import ask
from dashboard.services.evidence_lines import EvidenceLine
from dashboard.services.evidence_matching import Matched, match_lines
from dashboard.services.evidence_store import match_again
from dashboard.services.holding import Held, hold
from dashboard.services.judging import judge_answer
from dashboard.services.verdict_actions import Acting, act

ORIGIN = "evidence"
AT_ONCE = 200
# An acknowledgement may come before its operation is committed, and hardly a day before.
MATCHED_AGAIN_FOR = timedelta(days=1)


@dataclass
class EvidenceRun:
    """The looks that one file, message or round leads to; its run begins with the first of them."""

    database: Database
    actor: Actor
    policies: Policies
    number: int | None = None

    def look_at(self, number: int, source: Source) -> ReconciliationFinding | None:
        """Judge what came about an operation and do what policy allows; None where somebody holds it just now."""
        taken = transact(self.database, lambda session: _take(session, number, self.policies))
        if taken is None:
            return None
        held, items = taken
        policies = _reading(self.policies, held.question.type, source)
        answer = ask(self.database, held.question, policies=policies, destination=held.destination)
        background, policy = held.background, policies.of(held.question.type)
        look = judge_answer(held.question, answer, policy=policy, background=background)
        acting = Acting(self.actor, self._begun(), policies)

        def unit(session: Session) -> ReconciliationFinding:
            now = clock(session)
            finding = act(session, held, look, acting, now=now)
            runs.count(session, finding)
            if finding.reason != Reason.CHANGED_MEANWHILE:
                _mark_judged(session, items, now=now)
            return finding

        return transact(self.database, unit)

    def close(self, session: Session) -> ReconciliationRun | None:
        """End the run, if one was begun; its audit entry is the caller's."""
        return runs.close(session, self.number) if self.number is not None else None

    def _begun(self) -> int:
        if self.number is None:
            beginning = runs.Beginning(self.actor, ORIGIN, self.policies.hash)
            self.number = transact(self.database, lambda session: runs.begin(session, beginning))
        return self.number


def take_up(database: Database, *, policies: Policies, actor: Actor) -> bool:
    """Judge what was left: evidence whose operation came later, was held, or whose process died; one run a round."""
    with reading(database) as session:
        late = evidence.unmatched_since(session, clock(session) - MATCHED_AGAIN_FOR, limit=AT_ONCE)
        fitting = _fitting(session, late)
    if fitting:
        transact(database, lambda session: _match_late(session, fitting))
    with reading(database) as session:
        waiting = {item.operation_id: Source(item.source) for item in evidence.to_judge(session, limit=AT_ONCE)}
    run = EvidenceRun(database, actor, policies)
    looked = [run.look_at(number, source) for number, source in waiting.items() if number is not None]
    if run.number is not None:
        transact(database, lambda session: _end_round(session, run))
    return any(finding is not None for finding in looked)


def _take(session: Session, number: int, policies: Policies) -> tuple[Held, Sequence[int]] | None:
    """Hold the operation, and note which items the look will see; what comes after them waits for the next."""
    operation = session.get_one(Operation, number)
    if operation.state == State.PROCESSING:
        return None  # a worker may be sending at this moment
    observe = policies.of(operation.type).mode is Mode.OBSERVE
    held = hold(session, operation, policies=policies, now=clock(session), observe=observe)
    return None if held is None else (held, evidence.unjudged_about(session, number))


def _reading(policies: Policies, operation_type: str, source: Source) -> Policies:
    policy = policies.of(operation_type)
    if policy.probe and policy.probe.kind == source.value:
        return policies
    read = replace(policy, probe=ProbeRule(source.value))
    return replace(policies, types=MappingProxyType({**policies.types, operation_type: read}))


def _mark_judged(session: Session, items: Sequence[int], *, now: datetime) -> None:
    session.execute(
        update(EvidenceItem)
        .where(EvidenceItem.id.in_(items), EvidenceItem.judged_at.is_(None))
        .values(judged_at=now)
        .execution_options(synchronize_session=False)
    )


def _fitting(session: Session, items: Sequence[EvidenceItem]) -> Mapping[int, Matched]:
    """Which of the items fit operations by now."""
    found: dict[int, Matched] = {}
    for destination in {item.destination for item in items}:
        here = [item for item in items if item.destination == destination]
        matches = match_lines(session, destination, [_line_of(item) for item in here])
        found |= {item.id: matched for item, matched in zip(here, matches, strict=True)}
    return {number: matched for number, matched in found.items() if matched.match is not Match.UNMATCHED}


def _line_of(item: EvidenceItem) -> EvidenceLine:
    return EvidenceLine(item.content, item.event_id, item.occurred_at, item.raw_hash, item.line, b"")


def _match_late(session: Session, fitting: Mapping[int, Matched]) -> None:
    for number, matched in fitting.items():
        match_again(session, session.get_one(EvidenceItem, number), matched)


def _end_round(session: Session, run: EvidenceRun) -> None:
    if row := run.close(session):
        audit.append(
            session,
            actor=run.actor,
            action="evidence_judged",
            subject=f"reconciliation run {row.id}",
            now=clock(session),
            after={name: getattr(row, name) for name in runs.COUNTS},
            evidence={"digest": row.digest, "policy_hash": row.policy_hash},
        )
