"""Making a plan: which operations, each at its revision, what would happen to it, and why not where it cannot.

Everything is read first and then written in one transaction, so that no lock is held while thousands are looked at.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, insert, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session, defer

from dashboard.db import Database, clock, reading, transact
from dashboard.domain.actions import FORM_KEY, ActionName
from dashboard.domain.approval import ASKING, Demand, DemandReason, Wish, demand_for
from dashboard.domain.bulk import DRAFT_LASTS, MOST_ROWS, PlanState, RowOutcome, exact_amount, exact_sum, strictest
from dashboard.domain.errors import InvalidInputError, NotAllowedError, Problem, TransitionError
from dashboard.domain.permissions import ACTION_PERMISSION, Actor, Permission, holds, scopes
from dashboard.domain.states import State, Trigger, targets
from dashboard.domain.text import is_operation_id
from dashboard.models import BulkGroup, BulkPlan, BulkRow, Operation
from dashboard.queries.operations import OperationFilter, conditions
from dashboard.queries.scoping import in_scope
from dashboard.services import audit, offers
from dashboard.services.action_requests import ActionRequest, assess, demand
from dashboard.services.bulk_plans import subject_of
from dashboard.services.policies import Policies
from dashboard.services.proofs import proofs_for

READ_AT_ONCE = 500
WRITTEN_AT_ONCE = 1000
MADE = "bulk_plan"


@dataclass(frozen=True)
class Selection:
    """The operations a person ticked; or, with `filters`, all that match them."""

    ids: Sequence[str] = ()
    filters: OperationFilter | None = None


@dataclass(frozen=True)
class PlanRequest:
    """Who asks for which action on which operations, under which policies, on which form."""

    actor: Actor
    action: ActionName
    selection: Selection
    policies: Policies
    idempotency_key: str


class Planned(NamedTuple):
    """The draft; `unknown` of the ticked ids are no operations, or not for this person."""

    plan_id: int
    total: int
    unknown: int = 0
    repeated: bool = False


class _Group(NamedTuple):
    tenant: str
    type: str
    destination: str
    state: str
    target: str | None
    refusal: str | None
    risk: str
    currency: str | None


class _Row(NamedTuple):
    number: int
    revision: int
    amount: str | None
    group: _Group
    demand: Demand | None


def make(database: Database, request: PlanRequest) -> Planned:
    """Freeze the operations into a draft, once; nothing happens to them.

    Raises NotAllowedError where the person may ask for this nowhere, and InvalidInputError for a bad key
    (`key_invalid`), no operation at all (`plan_empty`) or more than 10,000 (`plan_too_large`).
    """
    if not FORM_KEY.fullmatch(request.idempotency_key):
        raise InvalidInputError((Problem("idempotency_key", "key_invalid"),))
    if not any(holds(request.actor.grants, each) for each in (ASKING[request.action], _alone(request.action))):
        raise NotAllowedError(permission=ASKING[request.action].value, action=request.action.value)
    if earlier := _earlier(database, request):
        return earlier
    with reading(database) as session:
        rows = tuple(_looked_at(session, request))
    try:
        return transact(database, lambda session: _write(session, request, rows))
    except IntegrityError:
        # The same form, sent twice at once.
        if earlier := _earlier(database, request):
            return earlier
        raise


def _alone(action: ActionName) -> Permission:
    return ACTION_PERMISSION[action]


def _earlier(database: Database, request: PlanRequest) -> Planned | None:
    with reading(database) as session:
        row = session.execute(
            select(BulkPlan.id, BulkPlan.total).where(
                BulkPlan.requested_by == request.actor.id, BulkPlan.idempotency_key == request.idempotency_key
            )
        ).one_or_none()
    return Planned(row.id, row.total, repeated=True) if row else None


def _looked_at(session: Session, request: PlanRequest) -> Iterator[_Row]:
    now = clock(session)
    where = _selected(request, now=now)
    numbers = session.scalars(select(Operation.id).where(*where).order_by(Operation.id).limit(MOST_ROWS + 1)).all()
    if not numbers:
        raise InvalidInputError((Problem("operation_id", "plan_empty"),))
    if len(numbers) > MOST_ROWS:
        raise InvalidInputError((Problem("operation_id", "plan_too_large", {"maximum": MOST_ROWS}),))
    for begin in range(0, len(numbers), READ_AT_ONCE):
        some = Operation.id.in_(numbers[begin : begin + READ_AT_ONCE])
        rows = select(Operation).options(defer(Operation.expected)).where(some).order_by(Operation.id)
        yield from _weighed(session, session.scalars(rows).all(), request, now=now)
        session.expunge_all()


def _selected(request: PlanRequest, *, now: datetime) -> list[ColumnElement[bool]]:
    visible = scopes(request.actor.grants, Permission.BROWSE)
    if request.selection.filters is not None:
        return conditions(request.selection.filters, scopes=visible, now=now)
    ids = sorted({each for each in request.selection.ids if is_operation_id(each)})
    return [in_scope(visible), Operation.operation_id.in_(ids)]


def _weighed(
    session: Session, operations: Sequence[Operation], request: PlanRequest, *, now: datetime
) -> Iterator[_Row]:
    asking, action, policies = request.actor, request.action, request.policies
    obstacles = offers.obstacles(session, operations, action, actor=asking, policies=policies, now=now)
    proofs = proofs_for(session, operations, action, policies=policies, now=now)
    for operation in operations:
        refusal, proof = obstacles[operation.id], proofs.get(operation.id)
        code = refusal.code if refusal else "proof_missing" if proof and proof.needs_override else None
        group = _Group(
            operation.tenant,
            operation.type,
            operation.destination,
            operation.state,
            _target(operation, action),
            code,
            assess(operation, action, policies=policies, now=now).level.value,
            operation.currency,
        )
        asked = ActionRequest(asking, operation.operation_id, action, policies)
        needed = demand(operation, asked, reason_code="", amount=None) if code is None else None
        yield _Row(operation.id, operation.revision, operation.amount, group, needed)


def _target(operation: Operation, action: ActionName) -> str | None:
    try:
        return targets(State(operation.state), trigger=Trigger(action.value)).value
    except TransitionError:
        return None


def _write(session: Session, request: PlanRequest, rows: Sequence[_Row]) -> Planned:
    now = clock(session)
    amounts = _amounts(rows)
    needed = _demanded(request, rows, amounts)
    plan = BulkPlan(
        action=request.action.value,
        state=PlanState.DRAFT.value,
        tenant=_shared(row.group.tenant for row in rows),
        type=_shared(row.group.type for row in rows),
        idempotency_key=request.idempotency_key,
        total=len(rows),
        eligible=sum(row.demand is not None for row in rows),
        needed=needed.approvals,
        special=" ".join(sorted(needed.special)),
        policy_hash=request.policies.hash,
        requested_by=request.actor.id,
        requested_kind=request.actor.kind.value,
        created_at=now,
        expires_at=now + DRAFT_LASTS,
    )
    session.add(plan)
    session.flush()
    for begin in range(0, len(rows), WRITTEN_AT_ONCE):
        some = rows[begin : begin + WRITTEN_AT_ONCE]
        session.execute(insert(BulkRow), [_columns(plan.id, row) for row in some])
    session.add_all(_groups(plan.id, amounts, rows))
    session.flush()
    _tell(session, request, plan, now=now)
    unknown = len(set(request.selection.ids)) - len(rows) if request.selection.filters is None else 0
    return Planned(plan.id, plan.total, unknown)


def _columns(plan_id: int, row: _Row) -> dict[str, Any]:
    outcome = RowOutcome.LEFT if row.group.refusal is None else RowOutcome.INELIGIBLE
    return {
        "plan_id": plan_id,
        "operation_id": row.number,
        "revision": row.revision,
        "outcome": outcome.value,
        "code": row.group.refusal,
        "amount": row.amount,
        "currency": row.group.currency,
    }


def _amounts(rows: Sequence[_Row]) -> Mapping[_Group, list[Decimal]]:
    found: dict[_Group, list[Decimal]] = defaultdict(list)
    for row in rows:
        number = exact_amount(row.amount)
        found[row.group].extend([number] if number is not None else [])
    return found


def _groups(plan_id: int, amounts: Mapping[_Group, list[Decimal]], rows: Sequence[_Row]) -> list[BulkGroup]:
    sizes: dict[_Group, int] = defaultdict(int)
    for row in rows:
        sizes[row.group] += 1
    return [
        BulkGroup(
            plan_id=plan_id,
            **group._asdict(),
            size=size,
            amount=format(exact_sum(amounts[group]), "f") if amounts[group] else None,
        )
        for group, size in sorted(sizes.items(), key=lambda item: (-item[1], str(item[0])))
    ]


def _demanded(request: PlanRequest, rows: Sequence[_Row], amounts: Mapping[_Group, list[Decimal]]) -> Demand:
    """The strictest of what the rows need one by one, and of what their totals need: many small make one large."""
    single = {row.demand for row in rows if row.demand is not None}
    executes = not any(DemandReason.ROLE in demand.reasons for demand in single)
    totals: dict[tuple[str, str | None], list[Decimal]] = defaultdict(list)
    for group, found in amounts.items():
        if group.refusal is None:
            totals[group.type, group.currency].extend(found)
    wishes = [
        (name, Wish(request.action, "", format(exact_sum(found), "f") if found else None, currency, executes=executes))
        for (name, currency), found in totals.items()
    ]
    return strictest([*single, *(demand_for(request.policies.of(name), wish) for name, wish in wishes)])


def _shared(values: Iterator[str]) -> str | None:
    found = set(values)
    return found.pop() if len(found) == 1 else None


def _tell(session: Session, request: PlanRequest, plan: BulkPlan, *, now: datetime) -> None:
    audit.append(
        session,
        actor=request.actor,
        action=MADE,
        subject=subject_of(plan.id),
        now=now,
        tenant=plan.tenant,
        type=plan.type,
        after={"action": plan.action, "total": plan.total, "eligible": plan.eligible, "needed": plan.needed},
    )
