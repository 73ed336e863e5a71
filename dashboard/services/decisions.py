"""Carrying out what was decided: the change, the stored action and the audit entry, in one transaction."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy.orm import Session

from dashboard.domain.actions import ActionName, Evidence
from dashboard.domain.approval import ActionState
from dashboard.domain.masking import Hiding, hide
from dashboard.domain.permissions import Actor
from dashboard.domain.redaction import redact_text
from dashboard.domain.risk import RiskAssessment
from dashboard.domain.states import Trigger
from dashboard.models import Action, Operation
from dashboard.queries.history import last_probe
from dashboard.services import audit, compensations, transitions

ASKS_OUTSIDE = frozenset({ActionName.REQUEUE, ActionName.COMPENSATE})


@dataclass(frozen=True)
class Decision:
    """A checked wish: who carries it out, what, on which evidence, at which risk and under which policy version.

    `hidden` is what the policy keeps out of what is stored. `proposal` is the stored action where
    it was proposed before, and `approved_by` who agreed to it. `plan_id` is the plan that it is part of.
    """

    actor: Actor
    action: ActionName
    evidence: Evidence
    idempotency_key: str
    risk: RiskAssessment
    policy_hash: str | None
    hidden: Hiding
    now: datetime
    amount: str | None = None
    proposal: Action | None = None
    approved_by: tuple[str, ...] = ()
    plan_id: int | None = None

    def told(self) -> dict[str, object]:
        """What events and audit say of the evidence beside the note."""
        told: dict[str, object] = {
            "action": self.action.value,
            "reason_code": self.evidence.reason_code,
            "reference": self.evidence.reference,
        }
        if self.amount is not None:
            told["amount"] = self.amount
        if self.proposal is not None:
            told["requested_by"] = self.proposal.requested_by
        if self.approved_by:
            told["approved_by"] = list(self.approved_by)
        if self.plan_id is not None:
            told["plan_id"] = self.plan_id
        return told


def carry_out(
    session: Session, operation: Operation, decision: Decision, *, compensation: compensations.Plan | None = None
) -> tuple[Action, Operation | None]:
    """Change the operation as decided; returns the stored action and, for a compensation, the child operation.

    Raises LostRaceError when the operation is no longer as it was read; then nothing was written.
    """
    before = {"state": operation.state, "revision": operation.revision}
    stored = decision.proposal or new_action(session, operation, decision, state=ActionState.EXECUTED)
    child = None
    if compensation:
        child = _compensate(session, operation, decision, compensation)
    else:
        _change_state(session, operation, decision)
    stored.state = ActionState.EXECUTED.value
    stored.executed_at = decision.now
    stored.outcome = transitions.TO_VERIFY if decision.action in ASKS_OUTSIDE else None
    stored.child_id = child.id if child else None
    session.add(stored)
    session.flush()
    after: dict[str, object] = {"state": operation.state, "revision": operation.revision, "action_id": stored.id}
    if child:
        after["compensation"] = child.operation_id
    record(session, operation, decision, stored=stored, action=decision.action.value, before=before, after=after)
    return stored, child


def new_action(session: Session, operation: Operation, decision: Decision, *, state: ActionState) -> Action:
    """The row of an action as it was asked for; not stored yet."""
    return Action(
        operation_id=operation.id,
        tenant=operation.tenant,
        type=operation.type,
        action=decision.action.value,
        state=state.value,
        idempotency_key=decision.idempotency_key,
        revision=operation.revision,
        reason_code=decision.evidence.reason_code,
        note=redact_text(decision.evidence.note),
        reference=redact_text(decision.evidence.reference) if decision.evidence.reference else None,
        amount=decision.amount,
        risk=decision.risk.level.value,
        snapshot=_snapshot(session, operation, hidden=decision.hidden),
        policy_hash=decision.policy_hash,
        requested_by=decision.actor.id,
        requested_at=decision.now,
    )


def record(
    session: Session,
    operation: Operation,
    decision: Decision,
    *,
    stored: Action,
    action: str,
    before: Mapping[str, object],
    after: Mapping[str, object],
) -> None:
    """Write down in the audit log that an action was executed or proposed."""
    audit.append(
        session,
        actor=decision.actor,
        action=action,
        subject=operation.operation_id,
        now=decision.now,
        tenant=operation.tenant,
        type=operation.type,
        before=before,
        after=after,
        reason=decision.evidence.note,
        evidence={**decision.told(), "risk": stored.risk, "snapshot": stored.snapshot},
    )


def _compensate(session: Session, operation: Operation, decision: Decision, planned: compensations.Plan) -> Operation:
    return compensations.create(
        session,
        operation,
        planned,
        actor=decision.actor,
        now=decision.now,
        reason=decision.evidence.note,
        told=decision.told(),
        policy_hash=decision.policy_hash,
    )


def _change_state(session: Session, operation: Operation, decision: Decision) -> None:
    transitions.apply(
        session,
        operation,
        trigger=Trigger(decision.action.value),
        actor=decision.actor,
        now=decision.now,
        reason=decision.evidence.note,
        evidence=decision.told(),
        policy_hash=decision.policy_hash,
        changes=_carried(decision),
    )


def _carried(decision: Decision) -> Mapping[str, object]:
    if decision.action is ActionName.REQUEUE:
        return {"next_attempt_at": decision.now, "lease_token": None, "lease_until": None}
    if decision.action is ActionName.CLOSE:
        return {"closed_reason": decision.evidence.reason_code}
    if decision.action is ActionName.REOPEN:
        return {"closed_reason": None, "confirmed_at": None}
    return {}


def _snapshot(session: Session, operation: Operation, *, hidden: Hiding) -> dict[str, object]:
    """What was known when the person decided, frozen and without its secrets."""
    probe = last_probe(session, operation.id)
    snapshot = {
        "state": operation.state,
        "attempts": operation.attempts,
        "cause": operation.cause,
        "verdict": operation.verdict,
        "verdict_at": operation.verdict_at.isoformat() if operation.verdict_at else None,
        "expected": operation.expected,
        "actual": probe.actual if probe else None,
    }
    return hide(snapshot, hidden)
