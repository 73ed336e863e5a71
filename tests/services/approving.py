"""Proposals of people who exist, and votes on them."""

from dataclasses import replace
from typing import Any

from sqlalchemy import func, select

from dashboard.db import Database, reading, transact
from dashboard.domain.actions import ActionName
from dashboard.domain.approval import Vote
from dashboard.domain.errors import OperationsError
from dashboard.domain.permissions import Actor
from dashboard.domain.policy import Approvals, Policies, TypePolicy
from dashboard.models import Action, AuditEntry, Operation
from dashboard.services import approvals, audit
from dashboard.services.actions import ActionForm, ActionRequest, Performed, perform
from dashboard.services.approvals import Decided
from tests import factories

FORM = ActionForm("form-1", 1, "charged_twice", factories.NOTE)


def under(**given: Any) -> Policies:
    """Policies in which a compensation needs approval as given."""
    asked = Approvals(**{"needed": {"compensate": 1}, **given})
    return Policies(
        hash="a" * 64, types={"charge_order": TypePolicy(compensation="refund_order", financial=True, approvals=asked)}
    )


POLICIES = under()


def add(database: Database, **values: Any) -> str:
    return transact(database, lambda session: factories.operation(session, **values).operation_id)


def propose(database: Database, who: Actor, *, policies: Policies = POLICIES, **changes: Any) -> Performed:
    request = ActionRequest(who, changes.pop("operation_id", None) or add(database), ActionName.COMPENSATE, policies)
    return perform(database, request, replace(FORM, **changes))


def decide(
    database: Database,
    who: Actor,
    proposed: Performed,
    vote: str = "approve",
    *,
    key: str = "vote-1",
    note: str | None = None,
    policies: Policies = POLICIES,
) -> Decided:
    return approvals.decide(
        database,
        actor=who,
        action_id=proposed.action_id,
        decision=Vote(vote),
        note=note,
        idempotency_key=key,
        policies=policies,
    )


def code(database: Database, who: Actor, proposed: Performed, vote: str = "approve", **wishes: Any) -> str:
    """The state after the vote, or the code of its refusal."""
    try:
        return decide(database, who, proposed, vote, **wishes).state
    except OperationsError as refusal:
        return refusal.code


def children(database: Database) -> int:
    """How many compensations there are; the audit log must verify."""
    with reading(database) as session:
        assert audit.verify(session).intact
        return session.scalar(select(func.count()).where(Operation.operation_id.contains("~"))) or 0


def stored(database: Database) -> Action:
    with reading(database) as session:
        return session.scalars(select(Action).order_by(Action.id.desc()).limit(1)).one()


def entries(database: Database) -> list[tuple[str, str, str]]:
    with reading(database) as session:
        rows = session.scalars(select(AuditEntry).order_by(AuditEntry.seq))
        return [(row.action, row.actor_id, row.outcome) for row in rows]
