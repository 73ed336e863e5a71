"""Grading what people did: each look at an operation bears out the last decision about it, or contradicts it."""

from datetime import datetime

from sqlalchemy import select, update
from sqlalchemy.orm import Session

from dashboard.domain.actions import ActionName
from dashboard.domain.approval import ActionState
from dashboard.domain.outcomes import GRADED, grade
from dashboard.domain.policy import TypePolicy
from dashboard.domain.responses import Judgement
from dashboard.models import Action, Operation
from dashboard.queries.history import sent_at


def grade_by(session: Session, operation: Operation, judged: Judgement, *, policy: TypePolicy, now: datetime) -> None:
    """Grade the last decision about the operation, and the one that created it where it is a compensation."""
    for decided in _last_decisions(session, operation):
        found = grade(
            ActionName(decided.action),
            verdict=judged.verdict,
            reason=judged.reason,
            executed_at=decided.executed_at or decided.requested_at,
            sent_at=sent_at(session, operation.id),
            window=policy.window.after,
            now=now,
        )
        if found is not None and (found.value != decided.outcome or decided.verified_at is None):
            session.connection().execute(
                update(Action).where(Action.id == decided.id).values(outcome=found.value, verified_at=now)
            )


def _last_decisions(session: Session, operation: Operation) -> list[Action]:
    own = sorted(action.value for action in GRADED if action is not ActionName.COMPENSATE)
    executed = Action.state == ActionState.EXECUTED.value
    newest = select(Action).order_by(Action.id.desc()).limit(1)
    found = [session.scalar(newest.where(Action.operation_id == operation.id, executed, Action.action.in_(own)))]
    if operation.parent_id is not None:
        found.append(session.scalar(newest.where(Action.child_id == operation.id, executed)))
    return [decided for decided in found if decided is not None]
