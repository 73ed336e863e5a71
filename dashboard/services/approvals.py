"""Deciding about a proposed action: one vote a person, never one's own; the last that is needed carries it out.

Everything is checked again in the transaction that executes: the proposal itself, the grants of all who agreed, the
policy in force, the proof, and what stands in the way by now.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import select
from sqlalchemy.orm import Session

from dashboard.db import Database, clock, transact
from dashboard.domain.actions import FORM_KEY, ActionName, check_remark, check_words
from dashboard.domain.approval import ActionState, Vote
from dashboard.domain.errors import (
    ConflictError,
    InvalidInputError,
    LostRaceError,
    NotAllowedError,
    NotFoundError,
    Problem,
)
from dashboard.domain.permissions import ACTION_PERMISSION, Actor, Permission, allows, scopes
from dashboard.domain.redaction import redact_text
from dashboard.domain.states import ActorKind, EventKind
from dashboard.models import Action, Approval, Operation
from dashboard.queries.scoping import in_scope
from dashboard.services import actions, audit, notices, proposals, transitions
from dashboard.services.policies import Policies
from dashboard.services.refusals import Attempt, attempt
from dashboard.services.standing import as_of_now

ENDS: dict[Vote, ActionState] = {Vote.REJECT: ActionState.REJECTED, Vote.WITHDRAW: ActionState.WITHDRAWN}


@dataclass(frozen=True)
class Decided:
    """What came of a vote: the state of the action now, and how many approvals it has of how many it needs."""

    action_id: int
    operation_id: str
    vote: Vote
    state: str
    approvals: int
    needed: int
    executed: actions.Performed | None = None
    repeated: bool = False


@dataclass(frozen=True)
class _Ballot:
    actor: Actor
    action_id: int
    vote: Vote
    note: str | None
    key: str
    policies: Policies


def decide(
    database: Database,
    *,
    actor: Actor,
    action_id: int,
    decision: Vote,
    note: str | None,
    idempotency_key: str,
    policies: Policies,
) -> Decided:
    """Approve, reject (with a note) or, for who proposed it, withdraw; a refusal is audited and then raised.

    Raises NotFoundError, InvalidInputError, NotAllowedError (`own_approval`, `not_proposer`, or a permission that is
    missing), LostRaceError `not_waiting` where it has ended, `approval_void` or `approval_expired` where it ends now,
    ConflictError `voted_already`, and what `actions.execute` raises. The same form again gives the first result.
    """
    ballot = _Ballot(actor, action_id, decision, note, idempotency_key, policies)
    # What no longer stands ends first, and stays ended although the vote on it is refused.
    subject, lapse = transact(database, lambda session: _settle_visible(session, ballot))
    tried = Attempt(actor, decision.value, subject, note)
    return attempt(database, tried, lambda session: _decide_once(session, ballot, lapse))


def find(session: Session, *, actor: Actor, action_id: int) -> tuple[Action, Operation]:
    """The action and its operation if they lie within the person's grants; NotFoundError otherwise."""
    visible = in_scope(scopes(actor.grants, Permission.BROWSE), tenant=Action.tenant, type=Action.type)
    row = session.execute(
        select(Action, Operation)
        .join(Operation, Operation.id == Action.operation_id)
        .where(Action.id == action_id, visible)
    ).one_or_none()
    if row is None:
        raise NotFoundError(action=action_id)
    return row[0], row[1]


def obstacle(stored: Action, operation: Operation, *, actor: Actor, vote: Vote) -> NotAllowedError | None:
    """Why the person may not give this vote, or None."""
    own = stored.requested_by == actor.id
    if vote is Vote.WITHDRAW:
        return None if own else NotAllowedError("not_proposer", permission=Permission.PROPOSE.value)
    if own:
        return NotAllowedError("own_approval", permission=Permission.APPROVE.value)
    for permission in (Permission.APPROVE, ACTION_PERMISSION[ActionName(stored.action)]):
        if not allows(actor.grants, permission, tenant=operation.tenant, type=operation.type):
            return NotAllowedError(permission=permission.value, action=stored.action)
    return None


def _settle_visible(session: Session, ballot: _Ballot) -> tuple[str, proposals.Lapse | None]:
    """The operation's id, and how the proposal ended just now; of what lies outside the grants only what was asked."""
    try:
        _, operation = find(session, actor=ballot.actor, action_id=ballot.action_id)
    except NotFoundError:
        return f"action:{ballot.action_id}", None
    return operation.operation_id, proposals.settle(session, ballot.action_id, policies=ballot.policies)


def _decide_once(session: Session, ballot: _Ballot, lapse: proposals.Lapse | None) -> Decided:
    stored, operation = find(session, actor=ballot.actor, action_id=ballot.action_id)
    if not FORM_KEY.fullmatch(ballot.key):
        raise InvalidInputError((Problem("idempotency_key", "key_invalid"),))
    # Two who approve at once meet at these locks, and so does whoever changes the operation meanwhile.
    session.refresh(stored, with_for_update=True)
    session.refresh(operation, with_for_update=True)
    earlier = _vote_of(session, stored, ballot)
    if earlier:
        return _decided(session, stored, operation, ballot, repeated=True)
    now = clock(session)
    _refuse_ended(session, stored, operation, ballot, lapse, now=now)
    voter = as_of_now(session, ballot.actor)
    if refusal := obstacle(stored, operation, actor=voter, vote=ballot.vote):
        raise refusal
    note = _checked_note(ballot)
    _store(session, stored, operation, ballot, note=note, now=now)
    if ends := ENDS.get(ballot.vote):
        proposals.end(session, stored, state=ends, because=ballot.vote.value, now=now)
        notices.announce(session, operation, stored, topic=notices.ENDED, policies=ballot.policies, now=now)
        return _decided(session, stored, operation, ballot)
    return _count(session, stored, operation, ballot, now=now)


def _count(session: Session, stored: Action, operation: Operation, ballot: _Ballot, *, now: datetime) -> Decided:
    """Execute where enough people agree who still may; a vote that could never be enough is refused."""
    voters = tuple(_standing_voters(session, stored, operation))
    needed = proposals.demand_of(stored)
    if len(voters) < needed.approvals:
        return _decided(session, stored, operation, ballot)
    for special in sorted(needed.special):
        if not any(allows(who.grants, special, tenant=operation.tenant, type=operation.type) for who in voters):
            raise NotAllowedError(permission=special.value, action=stored.action)
    executed = actions.execute(
        session,
        operation,
        stored,
        actor=ballot.actor,
        policies=ballot.policies,
        approved_by=tuple(who.id for who in voters),
    )
    notices.announce(session, operation, stored, topic=notices.ENDED, policies=ballot.policies, now=now)
    return _decided(session, stored, operation, ballot, executed=executed)


def _standing_voters(session: Session, stored: Action, operation: Operation) -> Iterator[Actor]:
    """Those who approved exactly this, and may still do so now."""
    votes = session.scalars(
        select(Approval)
        .where(
            Approval.action_id == stored.id,
            Approval.vote == Vote.APPROVE.value,
            Approval.binding == stored.binding,
        )
        .order_by(Approval.id)
    ).all()
    for vote in votes:
        voter = as_of_now(session, _actor_of(vote))
        if obstacle(stored, operation, actor=voter, vote=Vote.APPROVE) is None:
            yield voter


def _refuse_ended(
    session: Session,
    stored: Action,
    operation: Operation,
    ballot: _Ballot,
    lapse: proposals.Lapse | None,
    *,
    now: datetime,
) -> None:
    if lapse is None and stored.state != ActionState.PROPOSED.value:
        raise LostRaceError("not_waiting", state=stored.state, because=stored.ended_because)
    lapse = lapse or proposals.lapse_of(session, stored, operation, policies=ballot.policies, now=now)
    if lapse:
        code = "approval_expired" if lapse.state is ActionState.EXPIRED else "approval_void"
        raise LostRaceError(code, because=lapse.because, operation_id=operation.operation_id)


def _vote_of(session: Session, stored: Action, ballot: _Ballot) -> Approval | None:
    """The vote this form gave before; whoever has voted otherwise cannot vote again."""
    vote = session.scalar(select(Approval).where(Approval.action_id == stored.id, Approval.voter == ballot.actor.id))
    if vote and (vote.vote, vote.idempotency_key) != (ballot.vote.value, ballot.key):
        raise ConflictError("voted_already", vote=vote.vote)
    return vote


def _checked_note(ballot: _Ballot) -> str | None:
    """Why not must be said; why yes may be."""
    if ballot.vote is Vote.REJECT:
        return check_words(note=ballot.note, reference=None)[0]
    return check_remark(ballot.note)


def _store(
    session: Session, stored: Action, operation: Operation, ballot: _Ballot, *, note: str | None, now: datetime
) -> None:
    session.add(
        Approval(
            action_id=stored.id,
            voter=ballot.actor.id,
            voter_kind=ballot.actor.kind.value,
            vote=ballot.vote.value,
            note=redact_text(note) if note else None,
            binding=stored.binding,
            idempotency_key=ballot.key,
            at=now,
        )
    )
    told = {
        "vote": ballot.vote.value,
        "action": stored.action,
        "action_id": stored.id,
        "requested_by": stored.requested_by,
        "binding": stored.binding,
    }
    transitions.record(
        session,
        operation,
        kind=EventKind.APPROVAL,
        actor=ballot.actor,
        now=now,
        reason=note,
        evidence=told,
        policy_hash=ballot.policies.hash,
    )
    audit.append(
        session,
        actor=ballot.actor,
        action=ballot.vote.value,
        subject=operation.operation_id,
        now=now,
        tenant=operation.tenant,
        type=operation.type,
        before={"state": operation.state, "revision": operation.revision},
        reason=note,
        evidence=told,
    )


def _decided(
    session: Session,
    stored: Action,
    operation: Operation,
    ballot: _Ballot,
    *,
    executed: actions.Performed | None = None,
    repeated: bool = False,
) -> Decided:
    agreed = session.scalars(
        select(Approval.id).where(Approval.action_id == stored.id, Approval.vote == Vote.APPROVE.value)
    ).all()
    return Decided(
        stored.id,
        operation.operation_id,
        ballot.vote,
        stored.state,
        len(agreed),
        stored.needed,
        executed=executed,
        repeated=repeated,
    )


def _actor_of(vote: Approval) -> Actor:
    return Actor(ActorKind(vote.voter_kind), vote.voter)
