"""Notices about proposals and plans: a message in the outbox, written with the change it announces."""

from collections.abc import Iterable
from datetime import datetime

from sqlalchemy.orm import Session

from dashboard.models import Action, BulkGroup, BulkPlan, Operation
from dashboard.services import outbox
from dashboard.services.policies import Policies

REQUESTED = "approval.requested"
ENDED = "approval.ended"


def announce(
    session: Session, operation: Operation, stored: Action, *, topic: str, policies: Policies, now: datetime
) -> None:
    """Write the message for the sink that policy names; nothing where it names none."""
    sink = policies.of(operation.type).approvals.notify
    if sink is None:
        return
    outbox.enqueue(
        session,
        tenant=operation.tenant,
        type=operation.type,
        sink=sink,
        topic=topic,
        aggregate_key=f"action-{stored.id}",
        # Who reads it has what is needed to look it up; the words of people stay here.
        payload={
            "action_id": stored.id,
            "action": stored.action,
            "state": stored.state,
            "because": stored.ended_because,
            "operation_id": operation.operation_id,
            "amount": stored.amount or operation.amount,
            "currency": operation.currency,
            "risk": stored.risk,
            "needed": stored.needed,
            "requested_by": stored.requested_by,
            "expires_at": stored.expires_at.isoformat() if stored.expires_at else None,
        },
        now=now,
        operation_id=operation.id,
    )


def announce_plan(
    session: Session, plan: BulkPlan, groups: Iterable[BulkGroup], *, topic: str, policies: Policies, now: datetime
) -> None:
    """The same for a plan: one message for each sink that the policies of its operations name."""
    told: set[str] = set()
    for group in groups:
        sink = policies.of(group.type).approvals.notify
        if sink is None or sink in told:
            continue
        told.add(sink)
        outbox.enqueue(
            session,
            tenant=group.tenant,
            type=group.type,
            sink=sink,
            topic=topic,
            aggregate_key=f"plan-{plan.id}",
            payload={
                "plan_id": plan.id,
                "action": plan.action,
                "state": plan.state,
                "because": plan.because,
                "operations": plan.eligible,
                "needed": plan.needed,
                "requested_by": plan.requested_by,
                "expires_at": plan.expires_at.isoformat() if plan.expires_at else None,
            },
            now=now,
        )
