"""Compensations: a child operation that undoes its parent's effect, with an idempotency key of its own."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal, InvalidOperation
from typing import NamedTuple

from sqlalchemy import ColumnElement, func, or_, select
from sqlalchemy.orm import Session

from dashboard.domain.actions import ActionName
from dashboard.domain.errors import InvalidInputError, Problem
from dashboard.domain.money import parse_amount
from dashboard.domain.permissions import Actor
from dashboard.domain.states import EventKind, State
from dashboard.domain.verdicts import Verdict
from dashboard.models import Operation
from dashboard.queries.history import sent_at
from dashboard.services import transitions
from dashboard.services.policies import Policies

LONGEST_PARENT_ID = 100


@dataclass(frozen=True)
class Plan:
    """What the compensation will be: its id and key, its type, where it goes, and how long it may stay open.

    `amount` is the part it gives back; None for all of it.
    """

    operation_id: str
    idempotency_key: str
    type: str
    destination: str
    deadline: timedelta
    amount: str | None = None


class Existing(NamedTuple):
    """A compensation that was asked for before."""

    operation_id: str
    state: str

    @property
    def unproven(self) -> bool:
        """Whether it was closed: then it is named only because it may have had its effect."""
        return self.state == State.NOT_APPLICABLE


def planned(
    session: Session, operation: Operation, action: ActionName, *, policies: Policies, amount: str | None = None
) -> Plan | None:
    """The compensation that policy names for this operation; None where it names none, and for other actions."""
    child_type = policies.compensation_of(operation.type)
    if child_type is None or action is not ActionName.COMPENSATE:
        return None
    number = _earlier_children(session, operation) + 1
    return Plan(
        operation_id=_child_id(operation.operation_id, number),
        idempotency_key=f"compensate:{operation.operation_id}:{number}",
        type=child_type,
        destination=policies.of(child_type).destination or operation.destination,
        deadline=policies.deadline_of(child_type),
        amount=amount,
    )


def part_of(operation: Operation, action: ActionName, asked: str | None, *, policies: Policies) -> str | None:
    """The part of the amount that a compensation gives back, checked; None for all of it.

    As long as one compensation stands there is no second, so what is left to give back is the whole amount.
    Raises InvalidInputError where policy allows no parts, and for an amount that is none or more than there is.
    """
    text = (asked or "").strip()
    if not text or action is not ActionName.COMPENSATE:
        return None
    problem = _part_problem(operation, text, allowed=policies.of(operation.type).partial)
    if problem:
        raise InvalidInputError((problem,))
    return text


def _part_problem(operation: Operation, text: str, *, allowed: bool) -> Problem | None:
    if not allowed or operation.amount is None:
        return Problem("amount", "partial_not_allowed")
    try:
        part, whole = parse_amount(text), Decimal(operation.amount)
    except (ValueError, InvalidOperation):
        return Problem("amount", "amount_unreadable")
    if part <= 0:
        return Problem("amount", "amount_not_positive")
    if part > whole:
        return Problem("amount", "amount_above_rest", {"left": operation.amount, "currency": operation.currency})
    return None


def existing(session: Session, operation: Operation) -> Existing | None:
    """The compensation that is under way or done, or None."""
    return _standing(session, Operation.parent_id == operation.id)


def in_the_way(session: Session, operation: Operation) -> Existing | None:
    """The compensation that is under way or done, else one that was closed unproven, or None."""
    return _in_the_way(session, Operation.parent_id == operation.id)


def rival(session: Session, operation: Operation) -> Existing | None:
    """For a compensation, what is in the way of it: another one of the same effect; None where there is none."""
    if operation.parent_id is None:
        return None
    return _in_the_way(session, Operation.parent_id == operation.parent_id, Operation.id != operation.id)


def parents_among(session: Session, numbers: Sequence[int]) -> frozenset[int]:
    """Those of these operations, by row number, that anything compensates or has compensated."""
    found = session.scalars(select(Operation.parent_id).where(Operation.parent_id.in_(numbers)).distinct())
    return frozenset(number for number in found if number is not None)


def create(
    session: Session,
    parent: Operation,
    planned: Plan,
    *,
    actor: Actor,
    now: datetime,
    reason: str,
    told: Mapping[str, object],
    policy_hash: str | None,
) -> Operation:
    """Create the child, pending, and note it on both histories.

    The parent's revision is raised first, so two people cannot both compensate: the second gets LostRaceError.
    """
    transitions.change(session, parent, now=now)
    child = _child(parent, planned, now=now)
    session.add(child)
    session.flush()
    transitions.record(
        session,
        child,
        kind=EventKind.ACTION,
        actor=actor,
        now=now,
        to_state=State.PENDING,
        reason=reason,
        evidence={**told, "compensates": parent.operation_id},
        policy_hash=policy_hash,
    )
    transitions.record(
        session,
        parent,
        kind=EventKind.ACTION,
        actor=actor,
        now=now,
        reason=reason,
        evidence={**told, "compensation": child.operation_id},
        policy_hash=policy_hash,
    )
    return child


def _standing(session: Session, *which: ColumnElement[bool]) -> Existing | None:
    row = session.execute(
        select(Operation.operation_id, Operation.state).where(*which, Operation.state != State.NOT_APPLICABLE.value)
    ).first()
    return Existing._make(row) if row else None


def _in_the_way(session: Session, *which: ColumnElement[bool]) -> Existing | None:
    closed = Operation.state == State.NOT_APPLICABLE.value
    tried = select(Operation).where(*which, or_(~closed, Operation.attempts > 0)).order_by(closed, Operation.id)
    for child in session.scalars(tried):
        if child.state != State.NOT_APPLICABLE or not _proven_absent(session, child):
            return Existing(child.operation_id, child.state)
    return None


def _proven_absent(session: Session, child: Operation) -> bool:
    """Whether the destination was asked after the last sending, and had nothing."""
    if child.verdict != Verdict.ABSENT:
        return False
    sent = sent_at(session, child.id)
    return sent is None or (child.verdict_at is not None and child.verdict_at >= sent)


def _child(parent: Operation, planned: Plan, *, now: datetime) -> Operation:
    return Operation(
        operation_id=planned.operation_id,
        tenant=parent.tenant,
        type=planned.type,
        entity_type=parent.entity_type,
        entity_id=parent.entity_id,
        expected_version=parent.expected_version,
        expected=_expected(parent, planned),
        destination=planned.destination,
        state=State.PENDING.value,
        idempotency_key=planned.idempotency_key,
        correlation_id=parent.correlation_id,
        amount=planned.amount or parent.amount,
        currency=parent.currency,
        parent_id=parent.id,
        deadline_at=now + planned.deadline,
        created_at=now,
        state_since=now,
        updated_at=now,
    )


def _expected(parent: Operation, planned: Plan) -> dict[str, object] | None:
    """What the child's effect must be: the parent's, with the part in place of the whole amount."""
    if planned.amount is None or not parent.expected or "amount" not in parent.expected:
        return parent.expected
    return {**parent.expected, "amount": planned.amount}


def _earlier_children(session: Session, parent: Operation) -> int:
    counted = session.scalar(select(func.count()).where(Operation.parent_id == parent.id))
    return counted or 0


def _child_id(parent_id: str, number: int) -> str:
    """Readable and unique; a very long parent id is cut and told apart by its hash."""
    stem = parent_id
    if len(stem) > LONGEST_PARENT_ID:
        stem = f"{parent_id[:84]}.{hashlib.sha256(parent_id.encode()).hexdigest()[:15]}"
    return f"{stem}~compensation-{number}"
