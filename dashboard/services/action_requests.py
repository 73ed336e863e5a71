"""What a person asks for: who, which action on which operation, on which form; and what the operation's row says."""

from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache

from sqlalchemy import Select, bindparam, select
from sqlalchemy.orm import Session

from dashboard.domain.actions import ActionName
from dashboard.domain.approval import ActionState, Demand, Wish, demand_for
from dashboard.domain.errors import NotFoundError
from dashboard.domain.permissions import ACTION_PERMISSION, Actor, Permission, Scope, allows, scopes
from dashboard.domain.risk import RiskAssessment, assess_duplication
from dashboard.domain.states import Cause, known
from dashboard.domain.text import is_operation_id
from dashboard.domain.verdicts import Verdict
from dashboard.models import Operation
from dashboard.queries.scoping import in_scope
from dashboard.services.policies import Policies


@dataclass(frozen=True)
class ActionForm:
    """What a person sent: `idempotency_key` names the form, `revision` is the one they looked at, if they said.

    `amount` is the part of the operation's amount that a compensation gives back; without it, all of it.
    """

    idempotency_key: str
    revision: int | None
    reason_code: str | None = None
    note: str | None = None
    reference: str | None = None
    amount: str | None = None


@dataclass(frozen=True)
class ActionRequest:
    """Who asks for which action on which operation, under which policies."""

    actor: Actor
    operation_id: str
    action: ActionName
    policies: Policies


@dataclass(frozen=True)
class Performed:
    """The stored action; `repeated` when the same form had already done it.

    `state` is `executed`, or `proposed` where it waits for second people.
    """

    action_id: int
    operation_id: str
    action: ActionName
    child_operation_id: str | None
    repeated: bool = False
    state: str = ActionState.EXECUTED.value


def find(session: Session, *, actor: Actor, operation_id: str, permission: Permission = Permission.BROWSE) -> Operation:
    """The operation if it lies within the person's grants; NotFoundError otherwise, whichever the reason."""
    operation = None
    if is_operation_id(operation_id):
        operation = session.scalar(_one(scopes(actor.grants, permission)), {"operation_id": operation_id})
    if operation is None:
        raise NotFoundError(operation_id=operation_id)
    return operation


@lru_cache(maxsize=500)
def _one(visible: tuple[Scope, ...]) -> Select[Operation]:
    return select(Operation).where(Operation.operation_id == bindparam("operation_id"), in_scope(visible))


def may_execute(operation: Operation, action: ActionName, *, actor: Actor) -> bool:
    """Tell whether the person may do it alone where policy asks nobody else."""
    return allows(actor.grants, ACTION_PERMISSION[action], tenant=operation.tenant, type=operation.type)


def demand(operation: Operation, request: ActionRequest, *, reason_code: str, amount: str | None) -> Demand:
    """Who must agree to what is asked for; `amount` is the part a compensation gives back."""
    wish = Wish(
        request.action,
        reason_code,
        amount or operation.amount,
        operation.currency,
        executes=may_execute(operation, request.action, actor=request.actor),
    )
    return demand_for(request.policies.of(operation.type), wish)


def assess(operation: Operation, action: ActionName, *, policies: Policies, now: datetime) -> RiskAssessment:
    """How likely this action is to make an effect happen twice, judged on what the operation's row knows."""
    return assess_duplication(
        action,
        cause=known(Cause, operation.cause),
        verdict=known(Verdict, operation.verdict),
        verdict_age=now - operation.verdict_at if operation.verdict_at else None,
        freshness=policies.freshness_of(operation.type),
        attempts=operation.attempts,
        remote_id=operation.remote_id,
        honours_idempotency_key=policies.honours_key(operation.destination),
    )
