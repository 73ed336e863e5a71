"""Fresh proof, looked up: what is known of the effect of an operation that somebody wants to send again."""

from datetime import datetime

from sqlalchemy.orm import Session

from dashboard.domain.actions import ActionName
from dashboard.domain.proof import Proof, proof_of_absence
from dashboard.domain.states import known
from dashboard.domain.verdicts import Verdict
from dashboard.models import Operation
from dashboard.queries.history import sent_at
from dashboard.services.policies import Policies


def proof_for(
    session: Session, operation: Operation, action: ActionName, *, policies: Policies, now: datetime
) -> Proof | None:
    """What proves that the action makes no second effect; None for an action that sends nothing again."""
    if action is not ActionName.REQUEUE:
        return None
    verdict = known(Verdict, operation.verdict)
    return proof_of_absence(
        verdict,
        verdict_at=operation.verdict_at,
        sent_at=sent_at(session, operation.id) if verdict is Verdict.ABSENT else None,
        now=now,
        freshness=policies.freshness_of(operation.type),
    )
