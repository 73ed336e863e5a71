"""Notices about proposals: a message in the outbox, written with the change it announces."""

from datetime import datetime

from sqlalchemy.orm import Session

from dashboard.models import Action, Operation
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
