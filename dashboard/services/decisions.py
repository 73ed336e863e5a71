"""Carrying out what a person decided: the change, the stored action and the audit entry, in one transaction."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy.orm import Session

from dashboard.domain.actions import ActionName, Evidence
from dashboard.domain.masking import Hiding, hide
from dashboard.domain.permissions import Actor
from dashboard.domain.redaction import redact_text
from dashboard.domain.risk import RiskAssessment
from dashboard.domain.states import Trigger
from dashboard.models import Action, Operation
from dashboard.queries.history import last_probe
from dashboard.services import audit, compensations, transitions

EXECUTED = "executed"
ASKS_OUTSIDE = frozenset({ActionName.REQUEUE, ActionName.COMPENSATE})


@dataclass(frozen=True)
class Decision:
    """A person's checked wish: who, what, on which evidence, at which risk and under which policy version.

    `hidden` is what the policy keeps out of what is stored.
    """

    actor: Actor
    action: ActionName
    evidence: Evidence
    idempotency_key: str
    risk: RiskAssessment
    policy_hash: str | None
    hidden: Hiding
    now: datetime

    def told(self) -> dict[str, object]:
        """What events and audit say of the evidence beside the note."""
        return {
            "action": self.action.value,
            "reason_code": self.evidence.reason_code,
            "reference": self.evidence.reference,
        }


def carry_out(
    session: Session, operation: Operation, decision: Decision, *, compensation: compensations.Plan | None = None
) -> tuple[Action, Operation | None]:
    """Change the operation as decided; returns the stored action and, for a compensation, the child operation.

    Raises LostRaceError when the operation is no longer as it was read; then nothing was written.
    """
    before = {"state": operation.state, "revision": operation.revision}
    stored = _new_action(session, operation, decision)
    child = None
    if compensation:
        child = compensations.create(
            session,
            operation,
            compensation,
            actor=decision.actor,
            now=decision.now,
            reason=decision.evidence.note,
            told=decision.told(),
            policy_hash=decision.policy_hash,
        )
    else:
        _change_state(session, operation, decision)
    stored.child_id = child.id if child else None
    session.add(stored)
    session.flush()
    after: dict[str, object] = {"state": operation.state, "revision": operation.revision, "action_id": stored.id}
    if child:
        after["compensation"] = child.operation_id
    audit.append(
        session,
        actor=decision.actor,
        action=decision.action.value,
        subject=operation.operation_id,
        now=decision.now,
        tenant=operation.tenant,
        type=operation.type,
        before=before,
        after=after,
        reason=decision.evidence.note,
        evidence={**decision.told(), "risk": stored.risk, "snapshot": stored.snapshot},
    )
    return stored, child


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


def _new_action(session: Session, operation: Operation, decision: Decision) -> Action:
    return Action(
        operation_id=operation.id,
        tenant=operation.tenant,
        type=operation.type,
        action=decision.action.value,
        state=EXECUTED,
        outcome=transitions.TO_VERIFY if decision.action in ASKS_OUTSIDE else None,
        idempotency_key=decision.idempotency_key,
        revision=operation.revision,
        reason_code=decision.evidence.reason_code,
        note=redact_text(decision.evidence.note),
        reference=redact_text(decision.evidence.reference) if decision.evidence.reference else None,
        risk=decision.risk.level.value,
        snapshot=_snapshot(session, operation, hidden=decision.hidden),
        policy_hash=decision.policy_hash,
        requested_by=decision.actor.id,
        requested_at=decision.now,
        executed_at=decision.now,
    )


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
