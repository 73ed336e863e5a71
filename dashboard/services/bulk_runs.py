"""Carrying plans out: a portion of rows in one transaction, each as a single action would be done.

What became of a row is written with the action itself, so that a crash at any statement leaves it either done once or
still to be done. The key of a row's action comes from the plan and the row: even past all of this it could not be done
twice.
"""

import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from sqlalchemy import select, update
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import Session

from dashboard.db import Database, clock, reading, transact
from dashboard.domain.actions import ActionName
from dashboard.domain.approval import ActionState, Demand, Vote
from dashboard.domain.bulk import PlanState, RowOutcome, pause_after, portion
from dashboard.domain.errors import ConflictError, InvalidInputError, LostRaceError, OperationsError
from dashboard.domain.permissions import ACTION_PERMISSION, Actor, Permission, allows
from dashboard.models import Action, Approval, BulkPlan, BulkRow, Operation
from dashboard.queries.bulk import sums_of
from dashboard.services import actions, audit, bulk_plans, offers, refusals
from dashboard.services.action_requests import ActionForm, ActionRequest, demand
from dashboard.services.policies import Policies

DONE = "bulk_done"
PAUSED = "bulk_pause"
BROKEN = "bulk_broken"

log = logging.getLogger("dashboard.bulk")


@dataclass(frozen=True)
class _Run:
    """A plan as this portion of it was read, and everybody's grants as they are stored now."""

    plan_id: int
    action: ActionName
    reason_code: str | None
    note: str | None
    reference: str | None
    binding: str | None
    asker: Actor
    voters: Sequence[Actor]
    policies: Policies
    now: datetime


@dataclass
class _Settled:
    """What became of the rows of a portion, to be written at its end."""

    rows: list[dict[str, Any]] = field(default_factory=list)

    def add(
        self,
        row: int,
        outcome: RowOutcome,
        *,
        code: str | None = None,
        action_id: int | None = None,
        changed_by: object = None,
    ) -> None:
        """Note the outcome of the row with this number."""
        told = {"outcome": outcome.value, "code": code, "action_id": action_id, "changed_by": changed_by}
        self.rows.append({"id": row, **told})


def run_due(database: Database, *, policies: Policies, stop: Callable[[], bool] = lambda: False) -> bool:
    """Carry out one portion of each plan that is due, and end plans whose time is over; tell whether there was any."""
    ended = bulk_plans.sweep(database, policies=policies)
    with reading(database) as session:
        numbers = _due(session)
    ran = [_run_guarded(database, number, policies=policies) for number in numbers if not stop()]
    return ended or any(ran)


def run_portion(database: Database, plan_id: int, *, policies: Policies) -> bool:
    """Carry out the next rows of a plan; False where there is nothing to do, or another worker is at it."""
    return transact(database, lambda session: _run(session, plan_id, policies=policies))


def _due(session: Session) -> list[int]:
    due = (BulkPlan.state == PlanState.RUNNING.value, BulkPlan.next_at <= clock(session))
    return list(session.scalars(select(BulkPlan.id).where(*due).order_by(BulkPlan.next_at, BulkPlan.id)))


def _run_guarded(database: Database, plan_id: int, *, policies: Policies) -> bool:
    try:
        return run_portion(database, plan_id, policies=policies)
    except DBAPIError:
        raise
    except Exception:
        # A fault of ours would come again with every portion: a person looks at it instead.
        log.exception("plan %s was stopped", plan_id)
        return transact(database, lambda session: _stop_broken(session, plan_id))


def _run(session: Session, plan_id: int, *, policies: Policies) -> bool:
    plan = _held(session, plan_id)
    if plan is None:
        return False
    now = clock(session)
    canary = None if plan.canary_passed else plan.canary
    size = portion(rate=plan.rate, canary=canary, settled=sums_of(session, plan_id).settled if canary else 0)
    rows = _next_rows(session, plan_id, size)
    run = _Run(
        plan_id,
        ActionName(plan.action),
        plan.reason_code,
        plan.note,
        plan.reference,
        plan.binding,
        bulk_plans.asker_of(session, plan),
        bulk_plans.voters_of(session, plan) if plan.needed else (),
        policies,
        now,
    )
    _carry_out(session, run, rows)
    _go_on(session, run, rows=len(rows), now=now)
    return True


def _held(session: Session, plan_id: int) -> BulkPlan | None:
    """The plan, locked, if it is due and nobody else is at it."""
    due = (BulkPlan.id == plan_id, BulkPlan.state == PlanState.RUNNING.value, BulkPlan.next_at <= clock(session))
    return session.scalar(select(BulkPlan).where(*due).with_for_update(skip_locked=True))


def _next_rows(session: Session, plan_id: int, size: int) -> Sequence[tuple[Any, Operation]]:
    left = (BulkRow.plan_id == plan_id, BulkRow.outcome == RowOutcome.LEFT.value)
    rows = session.execute(
        select(BulkRow.id, BulkRow.operation_id, BulkRow.revision).where(*left).order_by(BulkRow.id).limit(size)
    ).all()
    # All operations are locked before the audit log is: whoever acts on one of them does it in this order too.
    about = Operation.id.in_([row.operation_id for row in rows])
    operations = session.scalars(select(Operation).where(about).order_by(Operation.id).with_for_update()).all()
    found = {operation.id: operation for operation in operations}
    return [(row, found[row.operation_id]) for row in rows]


def _carry_out(session: Session, run: _Run, rows: Sequence[tuple[Any, Operation]]) -> None:
    settled = _Settled()
    for row, operation in rows:
        _carry_out_row(session, run, row, operation, settled)
    if settled.rows:
        session.flush()
        at = {"settled_at": run.now}
        session.execute(update(BulkRow), [{**row, **at} for row in settled.rows])


def _carry_out_row(session: Session, run: _Run, row: Any, operation: Operation, settled: _Settled) -> None:
    public_id = operation.operation_id
    try:
        with session.begin_nested():
            done = _perform(session, run, row, operation)
    except LostRaceError as lost:
        settled.add(row.id, RowOutcome.SKIPPED, code=lost.code, changed_by=lost.details.get("changed_by"))
    except OperationsError as refusal:
        tried = refusals.Attempt(run.asker, run.action.value, public_id, run.note, run.reason_code)
        refusals.record(session, refusal, tried)
        settled.add(row.id, RowOutcome.FAILED, code=_code_of(refusal))
    else:
        settled.add(row.id, RowOutcome.DONE, action_id=done.action_id)


def _perform(session: Session, run: _Run, row: Any, operation: Operation) -> actions.Performed:
    request = ActionRequest(run.asker, operation.operation_id, run.action, run.policies)
    if refusal := offers.not_allowed(operation, run.action, actor=run.asker):
        raise refusal
    needed = demand(operation, request, reason_code=run.reason_code or "", amount=None)
    approved_by = tuple(_enough(operation, run, needed)) if needed.approvals else ()
    form = ActionForm(f"plan:{run.plan_id}:{row.id}", row.revision, run.reason_code, run.note, run.reference)
    done = actions.perform_in(session, request, form, approved_by=approved_by, plan_id=run.plan_id)
    if done.state != ActionState.EXECUTED:
        raise ConflictError("approvals_missing")
    if approved_by and not done.repeated:
        _keep_votes(session, run, done.action_id, needed, approved_by)
    return done


def _enough(operation: Operation, run: _Run, needed: Demand) -> Iterator[str]:
    """Those who agreed and may still do so for this operation; ConflictError where they are not enough."""
    others = (voter for voter in run.voters if voter.id != run.asker.id)
    voters = [voter for voter in others if _approves(voter, operation, run.action)]
    scope = {"tenant": operation.tenant, "type": operation.type}
    special = all(any(allows(voter.grants, each, **scope) for voter in voters) for each in needed.special)
    if len(voters) < needed.approvals or not special:
        raise ConflictError("approvals_missing")
    yield from (voter.id for voter in voters)


def _approves(voter: Actor, operation: Operation, action: ActionName) -> bool:
    wanted = (Permission.APPROVE, ACTION_PERMISSION[action])
    return all(allows(voter.grants, each, tenant=operation.tenant, type=operation.type) for each in wanted)


def _keep_votes(session: Session, run: _Run, action_id: int, needed: Demand, approved_by: Sequence[str]) -> None:
    """An action of a plan tells who agreed to it, as every other one does."""
    stored = session.get_one(Action, action_id)
    stored.needed, stored.special = needed.approvals, " ".join(sorted(needed.special))
    stored.binding = run.binding
    kinds = {voter.id: voter.kind.value for voter in run.voters}
    session.add_all(
        Approval(
            action_id=action_id,
            voter=who,
            voter_kind=kinds[who],
            vote=Vote.APPROVE.value,
            binding=run.binding,
            idempotency_key=f"plan:{run.plan_id}",
            at=run.now,
        )
        for who in approved_by
    )


def _code_of(refusal: OperationsError) -> str:
    if isinstance(refusal, InvalidInputError):
        return refusal.problems[0].code
    return refusal.code


def _go_on(session: Session, run: _Run, *, rows: int, now: datetime) -> None:
    """Say when the next portion is due; or that there is none, or that somebody must look first."""
    plan = session.get_one(BulkPlan, run.plan_id)
    sums = sums_of(session, plan.id)
    plan.next_at = now + pause_after(rows, rate=plan.rate)
    if not sums.of(RowOutcome.LEFT):
        plan.state, plan.ended_at = PlanState.DONE.value, now
        _tell(session, plan, DONE, sums.by_outcome, now=now)
    elif plan.canary and not plan.canary_passed and sums.settled >= plan.canary:
        plan.state, plan.because = PlanState.PAUSED.value, "canary"
        _tell(session, plan, PAUSED, sums.by_outcome, now=now)


def _stop_broken(session: Session, plan_id: int) -> bool:
    running = (BulkPlan.id == plan_id, BulkPlan.state == PlanState.RUNNING.value)
    plan = session.scalar(select(BulkPlan).where(*running).with_for_update())
    if plan is None:
        return False
    plan.state, plan.because = PlanState.STOPPED.value, "broken"
    _tell(session, plan, BROKEN, sums_of(session, plan_id).by_outcome, now=clock(session))
    return True


def _tell(session: Session, plan: BulkPlan, action: str, sums: Any, *, now: datetime) -> None:
    session.flush()
    audit.append(
        session,
        actor=bulk_plans.SYSTEM,
        action=action,
        subject=bulk_plans.subject_of(plan.id),
        now=now,
        tenant=plan.tenant,
        type=plan.type,
        after={"state": plan.state, "because": plan.because, "rows": dict(sums)},
    )
