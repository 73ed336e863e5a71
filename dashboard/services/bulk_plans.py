"""A plan as it is stored: who may see it, who may decide about it, and how it ends by itself."""

from collections.abc import Iterable, Sequence
from datetime import datetime

from sqlalchemy import select
from sqlalchemy.orm import Session

from dashboard.db import Database, clock, reading, transact
from dashboard.domain.actions import ActionName
from dashboard.domain.approval import ASKING, Vote
from dashboard.domain.bulk import PlanState, RowOutcome, binding
from dashboard.domain.errors import NotAllowedError, NotFoundError
from dashboard.domain.permissions import ACTION_PERMISSION, Actor, Permission, allows, scopes
from dashboard.domain.states import ActorKind
from dashboard.models import BulkGroup, BulkPlan, BulkRow, BulkVote
from dashboard.queries import bulk as queries
from dashboard.services import audit, notices
from dashboard.services.policies import Policies
from dashboard.services.refusals import Subject
from dashboard.services.standing import as_of_now

SYSTEM = Actor(ActorKind.SYSTEM, "plans")
LAPSED = "bulk_lapsed"
SWEPT_AT_ONCE = 20
SUBJECT = "plan:"


def subject_of(plan_id: int) -> str:
    """What audit entries call a plan."""
    return f"{SUBJECT}{plan_id}"


def look(session: Session, subject: str) -> Subject | None:
    """Find the plan of an attempt, for the audit entry of its refusal."""
    plan = session.get(BulkPlan, int(subject.removeprefix(SUBJECT)))
    return Subject(plan.tenant, plan.type, {"state": plan.state}) if plan else None


def find(session: Session, *, actor: Actor, plan_id: int) -> BulkPlan:
    """The plan, if all of its operations lie within the person's grants; NotFoundError otherwise."""
    visible = queries.in_sight(scopes(actor.grants, Permission.BROWSE))
    plan = session.scalar(select(BulkPlan).where(BulkPlan.id == plan_id, visible))
    if plan is None:
        raise NotFoundError(plan=plan_id)
    return plan


def groups_of(session: Session, plan: BulkPlan) -> Sequence[BulkGroup]:
    """The rows that can be done, in groups."""
    return session.scalars(
        select(BulkGroup).where(BulkGroup.plan_id == plan.id, BulkGroup.refusal.is_(None)).order_by(BulkGroup.id)
    ).all()


def missing(plan: BulkPlan, groups: Iterable[BulkGroup], *, actor: Actor) -> Permission | None:
    """What the person lacks anywhere to approve all of it, or None."""
    wanted = (Permission.APPROVE, ACTION_PERMISSION[ActionName(plan.action)])
    lacking = (
        permission
        for permission in wanted
        for group in groups
        if not allows(actor.grants, permission, tenant=group.tenant, type=group.type)
    )
    return next(lacking, None)


def obstacle(plan: BulkPlan, groups: Iterable[BulkGroup], *, actor: Actor, vote: Vote) -> NotAllowedError | None:
    """Why the person may not give this vote, or None."""
    own = plan.requested_by == actor.id
    if vote is Vote.WITHDRAW:
        return None if own else NotAllowedError("not_proposer", permission=Permission.PROPOSE.value)
    if own:
        return NotAllowedError("own_approval", permission=Permission.APPROVE.value)
    lacking = missing(plan, groups, actor=actor)
    return NotAllowedError(permission=lacking.value, action=plan.action) if lacking else None


def steers(plan: BulkPlan, groups: Sequence[BulkGroup], *, actor: Actor) -> bool:
    """Whether the person may stop it and let it go on: whoever asked for it and still may, or could approve it."""
    asking = ASKING[ActionName(plan.action)]
    if plan.requested_by == actor.id:
        return all(allows(actor.grants, asking, tenant=each.tenant, type=each.type) for each in groups)
    return missing(plan, groups, actor=actor) is None


def asker_of(session: Session, plan: BulkPlan) -> Actor:
    """Who asked for it, with the grants that are stored now."""
    return as_of_now(session, Actor(ActorKind(plan.requested_kind), plan.requested_by))


def voters_of(session: Session, plan: BulkPlan) -> list[Actor]:
    """Those who approved exactly this, with the grants that are stored now."""
    votes = session.scalars(
        select(BulkVote)
        .where(BulkVote.plan_id == plan.id, BulkVote.vote == Vote.APPROVE.value, BulkVote.binding == plan.binding)
        .order_by(BulkVote.id)
    ).all()
    return [as_of_now(session, Actor(ActorKind(vote.voter_kind), vote.voter)) for vote in votes]


def bound(session: Session, plan: BulkPlan) -> str:
    """The hash of what the plan asks for, as it is stored now."""
    rows = session.execute(
        select(BulkRow.operation_id, BulkRow.revision)
        .where(BulkRow.plan_id == plan.id, BulkRow.outcome != RowOutcome.INELIGIBLE.value)
        .order_by(BulkRow.id)
    )
    return binding(
        action=plan.action,
        reason_code=plan.reason_code or "",
        note=plan.note or "",
        reference=plan.reference,
        policy_hash=plan.policy_hash,
        rows=((row[0], row[1]) for row in rows),
    )


def settle(session: Session, plan_id: int, *, policies: Policies) -> PlanState | None:
    """End a plan that waits for somebody and no longer stands, and say how; None where it stands or has ended."""
    waits = BulkPlan.state.in_([PlanState.DRAFT.value, PlanState.WAITING.value])
    plan = session.scalar(select(BulkPlan).where(BulkPlan.id == plan_id, waits).with_for_update())
    now = clock(session)
    ended = _lapse(session, plan, policies=policies, now=now) if plan else None
    if plan is None or ended is None:
        return None
    before = {"state": plan.state}
    plan.state, plan.because = ended[0].value, ended[1]
    plan.ended_at = now
    session.flush()
    audit.append(
        session,
        actor=SYSTEM,
        action=LAPSED,
        subject=subject_of(plan.id),
        now=now,
        tenant=plan.tenant,
        type=plan.type,
        before=before,
        after={"state": plan.state, "because": plan.because},
    )
    announce(session, plan, before=before["state"], policies=policies, now=now)
    return ended[0]


def announce(session: Session, plan: BulkPlan, *, before: str, policies: Policies, now: datetime) -> None:
    """Tell of a plan that begins to wait for others, and of one that waits no longer."""
    waits, waited = (state == PlanState.WAITING for state in (plan.state, before))
    if waits != waited:
        topic = notices.REQUESTED if waits else notices.ENDED
        notices.announce_plan(session, plan, groups_of(session, plan), topic=topic, policies=policies, now=now)


def sweep(database: Database, *, policies: Policies) -> bool:
    """End all plans whose time is over; tell whether there were any."""
    with reading(database) as session:
        waits = BulkPlan.state.in_([PlanState.DRAFT.value, PlanState.WAITING.value])
        over = BulkPlan.expires_at <= clock(session)
        numbers = session.scalars(select(BulkPlan.id).where(waits, over).limit(SWEPT_AT_ONCE)).all()
    ended = [settle_alone(database, number, policies=policies) for number in numbers]
    return any(ended)


def settle_alone(database: Database, plan_id: int, *, policies: Policies) -> PlanState | None:
    """`settle` in a transaction of its own, which stays done whatever is refused afterwards."""
    return transact(database, lambda session: settle(session, plan_id, policies=policies))


def _lapse(session: Session, plan: BulkPlan, *, policies: Policies, now: datetime) -> tuple[PlanState, str] | None:
    if plan.expires_at is not None and plan.expires_at <= now:
        return PlanState.EXPIRED, "time_over"
    if plan.policy_hash != policies.hash:
        return PlanState.VOID, "policy_changed"
    if plan.state == PlanState.WAITING and plan.binding != bound(session, plan):
        return PlanState.VOID, "evidence_changed"
    return None
