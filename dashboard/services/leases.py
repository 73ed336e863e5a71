"""Who works on an operation: claims with a token and an end by the database's clock, heartbeats, and rescue.

A claim counts the attempt. Whoever holds the token may write; a lease that ran out goes to `awaiting_confirmation`,
never back to `pending`, because its effect may have happened.
"""

import secrets
from collections.abc import Callable, Collection, Sequence
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Select, Table, and_, bindparam, func, insert, or_, select, update
from sqlalchemy.orm import Session, aliased

from dashboard.db import clock
from dashboard.domain.errors import LostRaceError
from dashboard.domain.permissions import Actor, Scope
from dashboard.domain.policy import Policies, next_look
from dashboard.domain.states import Cause, ClosedReason, EventKind, State, Trigger, find_transition
from dashboard.domain.work import Parent, Work
from dashboard.models import Operation, OperationEvent
from dashboard.queries.scoping import in_scope
from dashboard.services import budgets, ordering, transitions
from dashboard.services.claimed import work_of

OPERATIONS: Table = Operation.metadata.tables["operations"]

AT_ONCE = 100
EVERYWHERE = (Scope(None, None),)
LEASE = timedelta(seconds=60)
SHORTEST_WAIT = timedelta(seconds=1)
LONGEST_WAIT = timedelta(minutes=1)
CLAIMABLE = (State.PENDING.value, State.RETRY_SCHEDULED.value)
LOST = "The lease ran out before an outcome was recorded: the effect may have happened."
SUPERSEDED = "The entity already holds a newer confirmed version."


def claim(
    session: Session,
    *,
    types: Collection[str],
    policies: Policies,
    actor: Actor,
    heartbeat: Callable[[Work], None],
    limit: int = AT_ONCE,
    lease: timedelta = LEASE,
    within: Sequence[Scope] = EVERYWHERE,
) -> tuple[Work, ...]:
    """Claim up to `limit` due operations of these types and scopes, in the order in which they fell due.

    Operations whose entity has an older unfinished version wait, those with a newer confirmed one are closed, and
    what a destination cannot bear now is put off without counting an attempt. `heartbeat` is what `Work.heartbeat`
    calls. The number of statements does not depend on how many are claimed.
    """
    now = clock(session)
    standing = budgets.standing(session, now=now)
    limit = min(limit, AT_ONCE)
    due = _due(session, types=types, within=within, without=standing.paused, limit=limit, now=now)
    found = ordering.sort_out(session, due)
    for row in found.superseded:
        _supersede(session, row, actor=actor, policies=policies, now=now)
    _put_off(session, {row.id: now + _wait(row, now=now) for row in found.waiting})
    admitted = budgets.admit(session, found.ready, standing=standing, policies=policies, now=now)
    _put_off(session, dict.fromkeys((row.id for row in admitted.postponed), budgets.next_minute(now)))
    if not admitted.now:
        return ()
    first_come = sorted(admitted.now, key=due.index)
    token = secrets.token_hex(16)
    parents = _parents(session, first_come)
    _hold(session, first_come, token=token, until=now + lease, actor=actor, policies=policies, now=now)
    return tuple(
        work_of(
            row,
            token=token,
            attempts=row.attempts + 1,
            parent=parents.get(row.id),
            standing=standing,
            heartbeat=heartbeat,
        )
        for row in first_come
    )


def heartbeat(session: Session, work: Work, *, lease: timedelta = LEASE) -> None:
    """Extend the lease from now; LostRaceError where the token no longer holds the operation."""
    result = session.connection().execute(
        update(Operation)
        .where(
            Operation.id == work.number,
            Operation.lease_token == work.token,
            Operation.state == State.PROCESSING.value,
        )
        .values(lease_until=clock(session) + lease)
    )
    if result.rowcount != 1:
        raise LostRaceError(operation_id=work.operation_id)


def held(session: Session, works: Sequence[Work]) -> dict[int, Operation]:
    """The operations as they are, locked, that these still hold, by their number; the others are missing."""
    tokens = {work.number: work.token for work in works}
    found = session.scalars(
        select(Operation)
        .where(Operation.id.in_(tokens), ordering.unindexed(Operation.state) == State.PROCESSING.value)
        .order_by(Operation.id)
        .with_for_update()
        .execution_options(populate_existing=True)
    )
    return {row.id: row for row in found if row.lease_token == tokens[row.id]}


def rescue(session: Session, *, policies: Policies, actor: Actor, limit: int = AT_ONCE) -> int:
    """Take operations whose lease ran out to `awaiting_confirmation`, to be probed; returns how many."""
    now = clock(session)
    ended = or_(
        Operation.lease_until <= now,
        and_(Operation.lease_until.is_(None), Operation.state_since <= now - LEASE),
    )
    lost = session.scalars(
        select(Operation)
        .where(ordering.IS_OPEN, Operation.state == State.PROCESSING.value, ended)
        .order_by(Operation.created_at, Operation.id)
        .limit(limit)
        .with_for_update(skip_locked=True)
    ).all()
    for row in lost:
        transitions.apply(
            session,
            row,
            trigger=Trigger.LEASE_LOST,
            actor=actor,
            now=now,
            cause=Cause.SENT_UNKNOWN,
            reason=LOST,
            policy_hash=policies.hash,
            lease_token=row.lease_token,
            changes={"next_attempt_at": next_look(policies.of(row.type).window, looks=0, now=now)},
        )
    return len(lost)


def _due(
    session: Session,
    *,
    types: Collection[str],
    within: Sequence[Scope],
    without: Collection[str],
    limit: int,
    now: datetime,
) -> list[Operation]:
    """What is due, earliest first and locked; then what a host wrote without a due time."""
    operation = Operation
    # Whoever looks at the destination now holds a lease as well: what they find out may forbid sending.
    free = or_(operation.lease_until.is_(None), operation.lease_until <= now)
    claimable = [ordering.IS_OPEN, ordering.unindexed(operation.type).in_(types), free]
    if within != EVERYWHERE:
        claimable.append(in_scope(within))
    if without:
        claimable.append(operation.destination.not_in(without))
    timed = [*claimable, ordering.unindexed(operation.state).in_(CLAIMABLE), operation.next_attempt_at <= now]
    rows = _locked(session, select(operation).where(*timed).order_by(operation.next_attempt_at, operation.id), limit)
    if len(rows) < limit:
        untimed = [*claimable, operation.state.in_(CLAIMABLE), operation.next_attempt_at.is_(None)]
        query = select(operation).where(*untimed).order_by(operation.created_at, operation.id)
        rows += _locked(session, query, limit - len(rows))
    return rows


def _locked(session: Session, query: Select[Operation], limit: int) -> list[Operation]:
    return list(session.scalars(query.limit(limit).with_for_update(skip_locked=True)))


def _hold(
    session: Session,
    rows: Sequence[Operation],
    *,
    token: str,
    until: datetime,
    actor: Actor,
    policies: Policies,
    now: datetime,
) -> None:
    """Write all claims in one UPDATE and their events in one INSERT; the rows are locked."""
    for row in rows:
        find_transition(State(row.state), State.PROCESSING, trigger=Trigger.CLAIM, actor=actor.kind)
    numbers = [row.id for row in rows]
    result = session.connection().execute(
        update(Operation)
        .where(Operation.id.in_(numbers), Operation.state.in_(CLAIMABLE))
        .values(
            state=State.PROCESSING.value,
            attempts=Operation.attempts + 1,
            revision=Operation.revision + 1,
            lease_token=token,
            lease_until=until,
            next_attempt_at=None,
            state_since=now,
            updated_at=now,
        )
    )
    if result.rowcount != len(rows):
        raise LostRaceError(operations=len(rows))
    seqs = _last_seqs(session, numbers)
    session.execute(
        insert(OperationEvent),
        [_claimed(row, seq=seqs.get(row.id, 0) + 1, actor=actor, policies=policies, now=now) for row in rows],
    )


def _claimed(row: Operation, *, seq: int, actor: Actor, policies: Policies, now: datetime) -> dict[str, Any]:
    return {
        "operation_id": row.id,
        "seq": seq,
        "at": now,
        "kind": EventKind.TRANSITION.value,
        "from_state": row.state,
        "to_state": State.PROCESSING.value,
        "actor_kind": actor.kind.value,
        "actor_id": actor.id,
        "policy_hash": policies.hash,
    }


def _last_seqs(session: Session, numbers: Sequence[int]) -> dict[int, int]:
    event = OperationEvent
    rows = session.execute(
        select(event.operation_id, func.max(event.seq).label("last"))
        .where(event.operation_id.in_(numbers))
        .group_by(event.operation_id)
    )
    return {row.operation_id: row.last for row in rows}


def _supersede(session: Session, row: Operation, *, actor: Actor, policies: Policies, now: datetime) -> None:
    transitions.apply(
        session,
        row,
        trigger=Trigger.SUPERSEDED,
        actor=actor,
        now=now,
        reason=SUPERSEDED,
        policy_hash=policies.hash,
        changes={"closed_reason": ClosedReason.SUPERSEDED.value},
    )


def _put_off(session: Session, until: dict[int, datetime]) -> None:
    """Move when these are looked at next. Nothing that a person decides on changes, so the revision stays."""
    if not until:
        return
    statement = update(OPERATIONS).where(OPERATIONS.c.id == bindparam("row"))
    statement = statement.values(next_attempt_at=bindparam("until"))
    session.connection().execute(statement, [{"row": number, "until": at} for number, at in until.items()])


def _wait(row: Operation, *, now: datetime) -> timedelta:
    """As long again as it waits already, so that a long queue behind one version costs little."""
    return min(max(now - row.state_since, SHORTEST_WAIT), LONGEST_WAIT)


def _parents(session: Session, rows: Sequence[Operation]) -> dict[int, Parent]:
    children = [row.id for row in rows if row.parent_id is not None]
    if not children:
        return {}
    parent = aliased(Operation)
    found = session.execute(
        select(Operation.id, parent.operation_id, parent.remote_id, parent.idempotency_key)
        .join(parent, parent.id == Operation.parent_id)
        .where(Operation.id.in_(children))
    )
    return {row.id: Parent(row.operation_id, row.remote_id, row.idempotency_key or row.operation_id) for row in found}
