"""Proposals: actions that wait for the second people policy asks for, and how they end without them.

A proposal stands while its operation is as it was, the policy asks for no more, who proposed it still may, and its
time is not over. What no longer stands is ended by whoever meets it first: a person who votes, or the worker.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import or_, select, update
from sqlalchemy.orm import Session

from dashboard.db import Database, clock, reading, transact
from dashboard.domain.actions import ActionName
from dashboard.domain.approval import ActionState, Demand, Wish, binding, demand_for
from dashboard.domain.errors import ConflictError
from dashboard.domain.permissions import Actor, Permission
from dashboard.domain.states import ActorKind, EventKind
from dashboard.models import Action, Operation
from dashboard.services import audit, decisions, notices, offers, transitions
from dashboard.services.policies import Policies
from dashboard.services.standing import API_NAME, as_of_now

SYSTEM = Actor(ActorKind.SYSTEM, "approvals")
PROPOSE = "propose"
LAPSED: Mapping[ActionState, str] = {ActionState.VOID: "proposal_void", ActionState.EXPIRED: "proposal_expired"}
SWEPT_AT_ONCE = 100


@dataclass(frozen=True)
class Lapse:
    """How a proposal ends by itself, and why."""

    state: ActionState
    because: str


def propose(
    session: Session, operation: Operation, decision: decisions.Decision, demand: Demand, *, policies: Policies
) -> Action:
    """Store what is asked for until enough people agree; nothing else happens yet."""
    _refuse_second(session, operation, decision.action)
    stored = decisions.new_action(session, operation, decision, state=ActionState.PROPOSED)
    stored.needed = demand.approvals
    stored.special = " ".join(sorted(demand.special))
    stored.expires_at = decision.now + policies.of(operation.type).approvals.expires
    stored.binding = bound(stored, operation)
    session.add(stored)
    session.flush()
    told = {**decision.told(), "action_id": stored.id, "needed": stored.needed}
    transitions.record(
        session,
        operation,
        kind=EventKind.ACTION,
        actor=decision.actor,
        now=decision.now,
        reason=stored.note,
        evidence={**told, "proposed": True},
        policy_hash=decision.policy_hash,
    )
    as_it_is = {"state": operation.state, "revision": operation.revision}
    after = {**as_it_is, "action_id": stored.id, "needed": stored.needed, "special": stored.special}
    decisions.record(session, operation, decision, stored=stored, action=PROPOSE, before=as_it_is, after=after)
    notices.announce(session, operation, stored, topic=notices.REQUESTED, policies=policies, now=decision.now)
    return stored


def bound(stored: Action, operation: Operation) -> str:
    """The hash of what the stored action asks for, as it is stored now."""
    return binding(
        action=stored.action,
        operation_id=operation.operation_id,
        revision=stored.revision,
        reason_code=stored.reason_code,
        note=stored.note,
        reference=stored.reference,
        amount=stored.amount,
        policy_hash=stored.policy_hash,
    )


def demand_of(stored: Action) -> Demand:
    """What the stored action needs, as it was when it was proposed."""
    return Demand(stored.needed, frozenset(Permission(name) for name in stored.special.split()))


def demand_now(stored: Action, operation: Operation, *, policies: Policies) -> Demand:
    """What the same action would need under the policies in force."""
    wish = Wish(
        ActionName(stored.action),
        stored.reason_code,
        stored.amount or operation.amount,
        operation.currency,
        # Whoever proposed it, it was proposed: it needs one approval at least.
        executes=False,
    )
    return demand_for(policies.of(operation.type), wish)


def lapse_of(
    session: Session, stored: Action, operation: Operation, *, policies: Policies, now: datetime
) -> Lapse | None:
    """Why a proposal no longer stands; None while it does."""
    if stored.revision != operation.revision:
        return Lapse(ActionState.VOID, "operation_changed")
    if stored.binding != bound(stored, operation):
        return Lapse(ActionState.VOID, "evidence_changed")
    if stored.expires_at is None or stored.expires_at <= now:
        return Lapse(ActionState.EXPIRED, "time_over")
    if demand_now(stored, operation, policies=policies).asks_more_than(demand_of(stored)):
        return Lapse(ActionState.VOID, "policy_asks_more")
    if offers.not_allowed(operation, ActionName(stored.action), actor=_proposer(session, stored)):
        return Lapse(ActionState.VOID, "proposer_may_not")
    return None


def settle(session: Session, number: int, *, policies: Policies) -> Lapse | None:
    """End the proposal with this number if it no longer stands, and say why; None where it stands or has ended."""
    row = session.execute(
        select(Action, Operation)
        .join(Operation, Operation.id == Action.operation_id)
        .where(Action.id == number, Action.state == ActionState.PROPOSED.value)
    ).one_or_none()
    if row is None:
        return None
    stored, operation = row
    now = clock(session)
    lapse = lapse_of(session, stored, operation, policies=policies, now=now)
    if lapse and end(session, stored, state=lapse.state, because=lapse.because, now=now):
        _tell(session, operation, stored, lapse, policies=policies, now=now)
        return lapse
    return None


def end(session: Session, stored: Action, *, state: ActionState, because: str | None, now: datetime) -> bool:
    """End a proposal without executing it; False where somebody else has ended it."""
    result = session.connection().execute(
        update(Action)
        .where(Action.id == stored.id, Action.state == ActionState.PROPOSED.value)
        .values(state=state.value, ended_at=now, ended_because=because)
    )
    session.expire(stored)
    return result.rowcount == 1


def sweep(database: Database, *, policies: Policies) -> bool:
    """End all proposals that no longer stand; tell whether there were any."""
    with reading(database) as session:
        doubtful = or_(
            Action.revision != Operation.revision,
            Action.expires_at <= clock(session),
            Action.policy_hash.is_distinct_from(policies.hash),
        )
        numbers = session.scalars(
            select(Action.id)
            .join(Operation, Operation.id == Action.operation_id)
            .where(Action.state == ActionState.PROPOSED.value, doubtful)
            .order_by(Action.id)
            .limit(SWEPT_AT_ONCE)
        ).all()
    ended = [_settle_alone(database, number, policies=policies) for number in numbers]
    return any(ended)


def _settle_alone(database: Database, number: int, *, policies: Policies) -> Lapse | None:
    return transact(database, lambda session: settle(session, number, policies=policies))


def _proposer(session: Session, stored: Action) -> Actor:
    """Who proposed it, with the grants that are stored now: none where they may do nothing here any more."""
    kind = ActorKind.API if stored.requested_by.startswith(API_NAME) else ActorKind.USER
    return as_of_now(session, Actor(kind, stored.requested_by))


def _refuse_second(session: Session, operation: Operation, action: ActionName) -> None:
    """The same thing proposed twice would only split the votes."""
    first = session.execute(
        select(Action.id, Action.requested_by).where(
            Action.operation_id == operation.id,
            Action.state == ActionState.PROPOSED.value,
            Action.action == action.value,
            Action.revision == operation.revision,
            Action.expires_at > clock(session),
        )
    ).first()
    if first:
        raise ConflictError("proposed_already", action_id=first.id, requested_by=first.requested_by)


def _tell(
    session: Session, operation: Operation, stored: Action, lapse: Lapse, *, policies: Policies, now: datetime
) -> None:
    told = {"action": stored.action, "action_id": stored.id, "state": lapse.state.value, "because": lapse.because}
    transitions.record(
        session,
        operation,
        kind=EventKind.APPROVAL,
        actor=SYSTEM,
        now=now,
        reason=lapse.because.replace("_", " "),
        evidence=told,
        policy_hash=policies.hash,
    )
    audit.append(
        session,
        actor=SYSTEM,
        action=LAPSED[lapse.state],
        subject=operation.operation_id,
        now=now,
        tenant=operation.tenant,
        type=operation.type,
        before={"action_id": stored.id, "revision": stored.revision, "requested_by": stored.requested_by},
        after={"state": lapse.state.value, "because": lapse.because, "revision": operation.revision},
    )
    notices.announce(session, operation, stored, topic=notices.ENDED, policies=policies, now=now)
