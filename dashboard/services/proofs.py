"""Fresh proof, looked up: what is known of an effect that somebody wants to make again, or to undo."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from sqlalchemy.orm import Session

from dashboard.domain.actions import OVERRIDE, ActionName
from dashboard.domain.errors import ConflictError
from dashboard.domain.proof import Proof, proof_of_absence, proof_of_effect
from dashboard.domain.states import known
from dashboard.domain.verdicts import Verdict
from dashboard.models import Operation
from dashboard.queries.history import sendings, sent_at
from dashboard.services.policies import Policies


def proof_for(
    session: Session, operation: Operation, action: ActionName, *, policies: Policies, now: datetime
) -> Proof | None:
    """What is known of the effect that the action would make again or undo; None where nothing stands against it."""
    if action is ActionName.COMPENSATE:
        return proof_of_effect(known(Verdict, operation.verdict))
    if action is not ActionName.REQUEUE:
        return None
    sent = sent_at(session, operation.id) if operation.verdict == Verdict.ABSENT else None
    return _weighed(operation, sent, policies=policies, now=now)


def proofs_for(
    session: Session, operations: Sequence[Operation], action: ActionName, *, policies: Policies, now: datetime
) -> Mapping[int, Proof]:
    """What `proof_for` says of each of these operations, by row number; in one statement."""
    if action is ActionName.COMPENSATE:
        found = {each.id: proof_of_effect(known(Verdict, each.verdict)) for each in operations}
        return {number: proof for number, proof in found.items() if proof}
    if action is not ActionName.REQUEUE:
        return {}
    absent = [operation.id for operation in operations if operation.verdict == Verdict.ABSENT]
    sent = sendings(session, absent)
    return {each.id: _weighed(each, sent.get(each.id), policies=policies, now=now) for each in operations}


def unproven(proof: Proof | None, *, reason_code: str) -> ConflictError | None:
    """Why a proposal with this reason cannot be carried out on this proof; None where it can."""
    if proof and proof.needs_override and reason_code != OVERRIDE:
        return ConflictError("proof_missing", proof=proof.value)
    return None


def _weighed(operation: Operation, sent: datetime | None, *, policies: Policies, now: datetime) -> Proof:
    return proof_of_absence(
        known(Verdict, operation.verdict),
        verdict_at=operation.verdict_at,
        sent_at=sent,
        now=now,
        freshness=policies.freshness_of(operation.type),
    )
