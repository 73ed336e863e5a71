"""Reconciling: ask the destination what really happened, and do what the written policy allows.

A pass selects what is due, takes one operation at a time, asks with no transaction open, and then re-reads, re-checks,
acts and appends the evidence in one transaction. A run that breaks off loses nothing: what it had not looked at is
still due, what it held is free again when its lease ends.
"""

import logging
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial

from sqlalchemy.exc import InterfaceError, OperationalError
from sqlalchemy.orm import Session

from dashboard.db import Database, clock, reading, transact
from dashboard.domain.answers import Answer
from dashboard.domain.errors import LostRaceError, NotAllowedError
from dashboard.domain.permissions import Actor, Permission, allows
from dashboard.domain.policy import Mode, Policies, next_look
from dashboard.domain.responses import Reason
from dashboard.domain.states import State
from dashboard.logs import about
from dashboard.models import Operation, ReconciliationFinding
from dashboard.queries.alert_figures import RECONCILER
from dashboard.queries.due import Due, Selection, due
from dashboard.services import actions, audit, heartbeats, runs
from dashboard.services.asking import Circuit, ask
from dashboard.services.holding import Held, hold
from dashboard.services.judging import judge_answer
from dashboard.services.refusals import Attempt, attempt
from dashboard.services.verdict_actions import Acting, act

CHECK = "check"
# A worker holds the row and may be sending at this moment: there is nothing to ask yet.
NOT_ASKED = frozenset({State.PROCESSING})
log = logging.getLogger("dashboard.reconciler")

Progress = Callable[[int], None]


@dataclass
class _Pass:
    """A pass over what is due; its run begins with the first look, so that idle rounds leave nothing behind."""

    database: Database
    beginning: runs.Beginning
    policies: Policies
    selection: Selection
    circuit: Circuit
    run_id: int | None = None
    looked: Counter[str] = field(default_factory=Counter)

    def observes(self, operation_type: str) -> bool:
        return self.beginning.observe or self.policies.of(operation_type).mode is Mode.OBSERVE

    def acting(self) -> Acting:
        if self.run_id is None:
            self.run_id = transact(self.database, lambda session: runs.begin(session, self.beginning))
        return Acting(self.beginning.actor, self.run_id, self.policies)


def run(
    database: Database,
    *,
    policies: Policies,
    actor: Actor,
    origin: str,
    only_type: str | None = None,
    limit: int | None = None,
    window: timedelta | None = None,
    observe: bool = False,
    progress: Progress | None = None,
    stop: Callable[[], bool] = lambda: False,
    circuit: Circuit | None = None,
) -> int | None:
    """Make one pass over all that is due and give the run's number; None where nothing was due.

    `limit` is per type. `window` replaces each type's own: everything that has waited that long is looked at. `stop`
    is asked between two operations. A worker gives the `circuit` it keeps, so that passes remember who is away.
    """
    with reading(database) as session:
        now, stale = clock(session), runs.stale(session)
    for left in stale:
        transact(database, partial(runs.end, number=left, actor=actor, state=runs.STOPPED))
    made = _Pass(
        database,
        runs.Beginning(actor, origin, policies.hash, observe=observe, only_type=only_type),
        policies,
        Selection(now, policies, only_type=only_type, window=window),
        circuit or Circuit(),
    )
    state = runs.STOPPED
    try:
        state = _look_at_all(made, limit=limit, progress=progress, stop=stop)
    finally:
        if made.run_id is not None:
            transact(database, partial(runs.end, number=made.run_id, actor=actor, state=state))
    if state == runs.FINISHED and only_type is None:
        heartbeats.beat(database, RECONCILER)
    return made.run_id


def look(database: Database, *, policies: Policies, actor: Actor, operation_id: str) -> ReconciliationFinding:
    """Ask about one operation now, because a person wants to know, and do what policy allows.

    Raises NotFoundError, NotAllowedError, and LostRaceError where somebody else is at it or was faster.
    """
    tried = Attempt(actor, CHECK, operation_id)
    acting, held = attempt(database, tried, lambda session: _take_for_check(session, tried, policies))
    finding = _ask_and_act(database, held, acting)
    transact(database, lambda session: _end_check(session, finding, acting))
    if finding.reason == Reason.CHANGED_MEANWHILE:
        raise LostRaceError(operation_id=operation_id)
    return finding


def _look_at_all(made: _Pass, *, limit: int | None, progress: Progress | None, stop: Callable[[], bool]) -> str:
    for row in due(made.database, made.selection):
        if stop():
            return runs.STOPPED
        if made.circuit.is_open(row.destination, now=made.selection.now):
            made.selection.away.add(row.destination)
            continue
        if not _look_safely(made, row):
            continue
        made.looked[row.type] += 1
        if limit is not None and made.looked[row.type] >= limit:
            made.selection.full_types.add(row.type)
        if progress:
            progress(made.looked.total())
    return runs.FINISHED


def _look_safely(made: _Pass, row: Due) -> bool:
    """Look at one operation; one that cannot be handled is logged and stops no other."""
    try:
        return _look_at(made, row)
    except (OperationalError, InterfaceError):
        raise
    except Exception:
        log.exception("reconciling the operation in row %s failed", row.number, extra={"run_id": made.run_id})
        return False


def _look_at(made: _Pass, row: Due) -> bool:
    observe = made.observes(row.type)
    if observe and not _its_turn(made, row):
        return False
    held = transact(made.database, lambda session: _take_due(session, row, policies=made.policies, observe=observe))
    if held is None:
        return False
    _ask_and_act(made.database, held, made.acting(), circuit=made.circuit)
    return True


def _its_turn(made: _Pass, row: Due) -> bool:
    """Observing moves no time of the operation itself, so the findings say when it was looked at last."""
    if made.selection.window is not None or made.beginning.observe:
        return True
    with reading(made.database) as session:
        operation = session.get_one(Operation, row.number)
        held = hold(session, operation, policies=made.policies, now=made.selection.now, observe=True)
    if held is None or held.looks.last_at is None:
        return True
    policy = made.policies.of(row.type)
    return next_look(policy.window, looks=held.looks.times, now=held.looks.last_at) <= made.selection.now


def _take_due(session: Session, row: Due, *, policies: Policies, observe: bool) -> Held | None:
    operation = session.get_one(Operation, row.number)
    if operation.state != State.AWAITING_CONFIRMATION:
        return None
    return hold(session, operation, policies=policies, now=clock(session), observe=observe)


def _ask_and_act(
    database: Database, held: Held, acting: Acting, *, circuit: Circuit | None = None
) -> ReconciliationFinding:
    with about(**held.named, run_id=acting.run_id, destination=held.destination):
        answer = ask(database, held.question, policies=acting.policies, destination=held.destination)
        if circuit:
            circuit.note(held.destination, answer, now=held.question.now)
        finding = _judge_and_act(database, held, answer, acting)
        log.info("looked at", extra={"verdict": finding.verdict, "reason": finding.reason, "applied": finding.applied})
    return finding


def _judge_and_act(database: Database, held: Held, answer: Answer, acting: Acting) -> ReconciliationFinding:
    policy = acting.policies.of(held.question.type)
    judged = judge_answer(held.question, answer, policy=policy, background=held.background)

    def unit(session: Session) -> ReconciliationFinding:
        finding = act(session, held, judged, acting, now=clock(session))
        runs.count(session, finding)
        return finding

    return transact(database, unit)


def _take_for_check(session: Session, tried: Attempt, policies: Policies) -> tuple[Acting, Held]:
    actor = tried.actor
    operation = actions.find(session, actor=actor, operation_id=tried.operation_id)
    if not allows(actor.grants, Permission.CHECK, tenant=operation.tenant, type=operation.type):
        raise NotAllowedError(permission=Permission.CHECK.value, action=CHECK)
    if operation.state in NOT_ASKED:
        raise LostRaceError("check_busy", operation_id=operation.operation_id)
    observe = policies.of(operation.type).mode is Mode.OBSERVE
    held = hold(session, operation, policies=policies, now=clock(session), observe=observe)
    if held is None:
        raise LostRaceError("check_busy", operation_id=operation.operation_id)
    beginning = runs.Beginning(actor, CHECK, policies.hash, observe=observe, only_type=operation.type)
    return Acting(actor, runs.begin(session, beginning), policies), held


def _end_check(session: Session, finding: ReconciliationFinding, acting: Acting) -> None:
    run = runs.close(session, finding.run_id)
    operation = session.get_one(Operation, finding.operation_id)
    audit.append(
        session,
        actor=acting.actor,
        action=CHECK,
        subject=operation.operation_id,
        now=finding.at,
        tenant=finding.tenant,
        type=finding.type,
        before={"state": finding.state},
        after={"state": operation.state, "verdict": finding.verdict, "reason": finding.reason},
        evidence={"run_id": finding.run_id, "digest": run.digest if run else None},
    )
