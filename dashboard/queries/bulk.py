"""Plans for many operations: the list, one plan in numbers, and its rows by what became of them."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Select, exists, func, select
from sqlalchemy.orm import Session

from dashboard.db import rows
from dashboard.domain.approval import Vote
from dashboard.domain.bulk import PlanState, RowOutcome, exact_amount, exact_sum
from dashboard.domain.permissions import Scope
from dashboard.models import Action, BulkGroup, BulkPlan, BulkRow, BulkVote, Operation
from dashboard.queries import keyset
from dashboard.queries.keyset import Page, Position, Sort
from dashboard.queries.moments import NUMBER
from dashboard.queries.scoping import in_scope

NEWEST = Sort("newest", BulkPlan.id, BulkPlan.id, descending=True, read=int)
IN_ORDER = Sort("in_order", BulkRow.id, BulkRow.id, descending=False, read=int)
SHOWN_PLANS = 10


@dataclass(frozen=True)
class Sums:
    """How many rows have each outcome; the parts always make the whole."""

    by_outcome: Mapping[str, int]

    def of(self, outcome: str) -> int:
        """How many rows have this outcome."""
        return self.by_outcome.get(outcome, 0)

    @property
    def total(self) -> int:
        """All rows of the plan."""
        return sum(self.by_outcome.values())

    @property
    def settled(self) -> int:
        """The rows that the worker is through with."""
        return self.of(RowOutcome.DONE) + self.of(RowOutcome.SKIPPED) + self.of(RowOutcome.FAILED)

    @property
    def eligible(self) -> int:
        """The rows that can be done."""
        return self.total - self.of(RowOutcome.INELIGIBLE)


class Amount(NamedTuple):
    """The exact total of the rows with an outcome in a currency; None for rows without one."""

    outcome: str
    currency: str | None
    total: Decimal


class Reason(NamedTuple):
    """Why rows were not done, and how many."""

    outcome: str
    code: str | None
    times: int


def in_sight(scopes: Sequence[Scope]) -> ColumnElement[bool]:
    """Holds for plans all of whose operations lie in these scopes: what lies outside does not exist for the person."""
    inside = in_scope(scopes, tenant=BulkGroup.tenant, type=BulkGroup.type)
    beyond = exists(select(1).where(BulkGroup.plan_id == BulkPlan.id, ~inside).correlate(BulkPlan))
    within = exists(select(1).where(BulkGroup.plan_id == BulkPlan.id, inside).correlate(BulkPlan))
    return within & ~beyond


def list_plans(
    session: Session, *, scopes: Sequence[Scope], states: frozenset[str], person: str, position: Position
) -> Page:
    """One page of plans, newest first; the drafts of others are left out."""
    narrowed = keyset.narrow(
        select(BulkPlan.id.label("number"), BulkPlan.id.label("key")).where(
            in_sight(scopes), *_listed(states, person=person)
        ),
        sort=NEWEST,
        position=position,
    ).subquery("page")
    wide = (
        select(narrowed.c.number, narrowed.c.key, BulkPlan)
        .join(BulkPlan, BulkPlan.id == narrowed.c.number)
        .order_by(*keyset.wide_order(NEWEST, position, key=narrowed.c.key, number=narrowed.c.number))
    )
    return keyset.fetch(session, wide, sort=NEWEST, position=position, ask=Session.execute)


def _listed(states: frozenset[str], *, person: str) -> list[ColumnElement[bool]]:
    shown = (BulkPlan.state != PlanState.DRAFT.value) | (BulkPlan.requested_by == person)
    return [shown, BulkPlan.state.in_(sorted(states))] if states else [shown]


def sums_of(session: Session, plan_id: int) -> Sums:
    """Count the rows of a plan by what became of them."""
    rows = session.execute(
        select(BulkRow.outcome, func.count()).where(BulkRow.plan_id == plan_id).group_by(BulkRow.outcome)
    )
    return Sums({row[0]: row[1] for row in rows})


def groups_of(session: Session, plan_id: int) -> Sequence[BulkGroup]:
    """What the plan was about when it was made, the largest groups first."""
    return session.scalars(select(BulkGroup).where(BulkGroup.plan_id == plan_id).order_by(BulkGroup.id)).all()


def amounts_of(session: Session, plan_id: int) -> list[Amount]:
    """The exact totals by outcome and currency; engines would add them as floating point."""
    found: dict[tuple[str, str | None], list[Decimal]] = defaultdict(list)
    columns = (BulkRow.outcome, BulkRow.currency, BulkRow.amount)
    rows = session.execute(
        select(*columns, func.count()).where(BulkRow.plan_id == plan_id, BulkRow.amount.is_not(None)).group_by(*columns)
    )
    for outcome, currency, text, times in rows:
        number = exact_amount(text)
        found[outcome, currency].extend([number] * times if number is not None else [])
    return [Amount(*key, exact_sum(numbers)) for key, numbers in sorted(found.items(), key=str)]


def reasons_of(session: Session, plan_id: int) -> list[Reason]:
    """Why rows were not eligible, skipped or failed, the most frequent first."""
    why = (BulkRow.outcome, BulkRow.code)
    rows = session.execute(
        select(*why, func.count().label("times"))
        .where(BulkRow.plan_id == plan_id, BulkRow.code.is_not(None))
        .group_by(*why)
        .order_by(func.count().desc(), *why)
    )
    return [Reason._make(row) for row in rows]


def list_rows(
    session: Session, plan_id: int, *, outcomes: frozenset[str], codes: frozenset[str], position: Position
) -> Page:
    """One page of a plan's rows in the order in which they are done."""
    where = [BulkRow.plan_id == plan_id]
    where += [BulkRow.outcome.in_(sorted(outcomes))] if outcomes else []
    where += [BulkRow.code.in_(sorted(codes))] if codes else []
    chosen: Select[*tuple[Any, ...]] = select(BulkRow.id.label("number"), BulkRow.id.label("key")).where(*where)
    ids = keyset.narrow(chosen, sort=IN_ORDER, position=position).subquery("page")
    wide = (
        select(ids.c.number, ids.c.key, BulkRow, *_COLUMNS)
        .join(BulkRow, BulkRow.id == ids.c.number)
        .join(Operation, Operation.id == BulkRow.operation_id)
        .order_by(*keyset.wide_order(IN_ORDER, position, key=ids.c.key, number=ids.c.number))
    )
    return keyset.fetch(session, wide, sort=IN_ORDER, position=position, ask=Session.execute)


def votes_on(session: Session, plan_id: int) -> Sequence[BulkVote]:
    """What people decided about a plan, oldest first."""
    return session.scalars(select(BulkVote).where(BulkVote.plan_id == plan_id).order_by(BulkVote.id)).all()


def plans_of(session: Session, operation: int, *, scopes: Sequence[Scope]) -> Sequence[Any]:
    """The newest plans that the operation with this row number is part of, and what became of it there."""
    return rows(session, _newest_of_one(tuple(scopes)), {"number": operation}).all()


@lru_cache(maxsize=500)
def _newest_of_one(scopes: tuple[Scope, ...]) -> Select[*tuple[Any, ...]]:
    return (
        select(BulkPlan.id, BulkPlan.action, BulkPlan.state, BulkPlan.requested_by, BulkRow.outcome, BulkRow.code)
        .join(BulkRow, BulkRow.plan_id == BulkPlan.id)
        .where(BulkRow.operation_id == NUMBER, BulkPlan.state != PlanState.DRAFT.value, in_sight(scopes))
        .order_by(BulkPlan.id.desc())
        .limit(SHOWN_PLANS)
    )


def plan_of(session: Session, action: int, *, scopes: Sequence[Scope]) -> int | None:
    """The plan that an action was part of, if the person may see it."""
    return session.scalar(
        select(BulkPlan.id)
        .join(BulkRow, BulkRow.plan_id == BulkPlan.id)
        .where(BulkRow.action_id == action, in_sight(scopes))
    )


def counted_waiting(*, scopes: Sequence[Scope], person: str) -> Select[int]:
    """Counts the plans of others that wait for a decision of this person, who may approve in these scopes."""
    voted = exists(select(1).where(BulkVote.plan_id == BulkPlan.id, BulkVote.voter == person).correlate(BulkPlan))
    waiting = (BulkPlan.state == PlanState.WAITING.value, BulkPlan.requested_by != person, ~voted)
    return select(func.count()).select_from(BulkPlan).where(*waiting, in_sight(scopes))


def agreed(votes: Sequence[BulkVote]) -> int:
    """How many of the votes are approvals."""
    return len([vote for vote in votes if vote.vote == Vote.APPROVE])


_COLUMNS = (
    Operation.operation_id.label("public_id"),
    Operation.type,
    Operation.entity_type,
    Operation.entity_id,
    Operation.tenant,
    Operation.state,
    Operation.revision.label("revision_now"),
    select(Action.outcome).where(Action.id == BulkRow.action_id).scalar_subquery().label("effect"),
)
