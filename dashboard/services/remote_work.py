"""Work of programs that are not on this machine: what they claimed is found again by operation and lease token.

A token works as a worker: the table of transitions asks the same of it. What lies outside of what it may work on does
not exist for it; a lease that is lost is a lost race, whoever holds it now.
"""

from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from dashboard.db import clock
from dashboard.domain.errors import LostRaceError
from dashboard.domain.permissions import Actor, Permission, scopes
from dashboard.domain.policy import Policies
from dashboard.domain.states import ActorKind, State
from dashboard.domain.work import Work
from dashboard.models import Operation
from dashboard.services import budgets, leases
from dashboard.services.action_requests import find
from dashboard.services.claimed import work_of


@dataclass(frozen=True)
class Claimed:
    """What was claimed, under one lease token that ends at `until`; None where nothing was due."""

    works: tuple[Work, ...]
    until: datetime | None


def as_worker(actor: Actor) -> Actor:
    """The same token as the worker that it is while it works."""
    return replace(actor, kind=ActorKind.WORKER)


def claim(
    session: Session, *, actor: Actor, types: Collection[str], limit: int, lease: timedelta, policies: Policies
) -> Claimed:
    """Claim due operations of these types among those that the token may work on."""
    within = scopes(actor.grants, Permission.WORK)
    if not within:
        return Claimed((), None)
    works = leases.claim(
        session,
        types=types,
        policies=policies,
        actor=as_worker(actor),
        heartbeat=_from_afar,
        limit=limit,
        lease=lease,
        within=within,
    )
    return Claimed(works, _until(session, works[0]) if works else None)


def held(session: Session, *, actor: Actor, operation_id: str, token: str) -> Work:
    """The work that this lease token holds; NotFoundError outside the grants, LostRaceError where it does not hold."""
    row = find(session, actor=actor, operation_id=operation_id, permission=Permission.WORK)
    if row.state != State.PROCESSING.value or row.lease_token != token:
        raise LostRaceError(operation_id=operation_id)
    return _work(session, row, token=token)


def check_lease(session: Session, *, operation_ids: Collection[str], token: str) -> None:
    """Raise LostRaceError unless this lease holds all of these, and has not ended."""
    holding = select(func.count()).where(
        Operation.operation_id.in_(operation_ids),
        Operation.state == State.PROCESSING.value,
        Operation.lease_token == token,
        Operation.lease_until > clock(session),
    )
    if session.scalar(holding) != len(operation_ids):
        raise LostRaceError(lease_token=token)


def heartbeat(session: Session, work: Work, *, lease: timedelta) -> datetime:
    """Extend the lease from now and say until when; LostRaceError where it is lost."""
    leases.heartbeat(session, work, lease=lease)
    return _until(session, work)


def _until(session: Session, work: Work) -> datetime:
    until = session.scalars(select(Operation.lease_until).where(Operation.id == work.number)).one()
    return until or clock(session)


def _work(session: Session, row: Operation, *, token: str) -> Work:
    standing = budgets.standing(session, now=clock(session))
    return work_of(row, token=token, attempts=row.attempts, parent=None, standing=standing, heartbeat=_from_afar)


def _from_afar(_work: Work) -> None:
    """The heart of work that is done elsewhere beats through `heartbeat`."""
