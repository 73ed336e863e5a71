"""Lists of actions: what people asked for, and whether it worked."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any

from sqlalchemy import ColumnElement, Select, and_, exists, false, select
from sqlalchemy.orm import Session, aliased

from dashboard.db import clock, rows
from dashboard.domain.approval import ActionState
from dashboard.domain.errors import NotFoundError
from dashboard.domain.outcomes import Outcome
from dashboard.domain.permissions import Actor, Scope
from dashboard.models import Action, Approval, Operation
from dashboard.queries import keyset, proposals, totals
from dashboard.queries.keyset import Page, Position, Sort
from dashboard.queries.moments import NOW, NUMBER
from dashboard.queries.scoping import in_scope

STATES = tuple(ActionState)
OUTCOMES = tuple(Outcome)

NEWEST = Sort("newest", Action.id, Action.id, descending=True, read=int)
_Child = aliased(Operation)

COLUMNS = (
    Action.action,
    Action.outcome,
    Action.tenant,
    Action.type,
    Action.reason_code,
    Action.risk,
    Action.requested_by,
    Action.requested_at,
    Action.executed_at,
    Action.verified_at,
    Action.expires_at,
    Operation.operation_id,
    Operation.entity_type,
    Operation.entity_id,
    Operation.amount,
    Operation.currency,
    Operation.state.label("operation_state"),
)


@dataclass(frozen=True)
class ActionFilter:
    """What a list of actions is narrowed to; `waiting_for` is who they wait for."""

    actions: frozenset[str] = frozenset()
    states: frozenset[str] = frozenset()
    outcomes: frozenset[str] = frozenset()
    requested_by: str | None = None
    waiting_for: Actor | None = None
    types: frozenset[str] = frozenset()
    reasons: frozenset[str] = frozenset()
    since: datetime | None = None
    until: datetime | None = None
    voter: str | None = None
    votes: frozenset[str] = frozenset()


def list_actions(
    session: Session, filters: ActionFilter, *, scopes: Sequence[Scope], position: Position, now: datetime
) -> Page:
    """One page of rows with COLUMNS and the `state` as it is now, newest first."""
    wide = _page(filters, tuple(scopes), position.shape)
    return keyset.fetch(session, wide, sort=NEWEST, position=position, values={"now": now})


def count_actions(
    session: Session, looks: Sequence[ActionFilter], *, scopes: Sequence[Scope], now: datetime
) -> list[totals.Total]:
    """How many rows each list has: exact for what is still to verify or to approve, capped otherwise."""
    return totals.several(session, _counts(tuple(looks), tuple(scopes)), {"now": now})


@lru_cache(maxsize=500)
def _page(filters: ActionFilter, scopes: tuple[Scope, ...], position: Position) -> Select[*tuple[Any, ...]]:
    chosen = select(Action.id.label("number"), Action.id.label("key")).where(*_conditions(filters))
    parts = [keyset.narrow(chosen.where(part), sort=NEWEST, position=position) for part in _parts(scopes)]
    ids = keyset.together(parts)
    return (
        select(ids.c.number, ids.c.key, proposals.state_at(NOW).label("state"), *COLUMNS)
        .select_from(ids)
        .join(Action, Action.id == ids.c.number)
        .join(Operation, Operation.id == Action.operation_id)
        .order_by(*keyset.wide_order(NEWEST, position, key=ids.c.key, number=ids.c.number))
        .limit(position.limit + 1)
    )


@lru_cache(maxsize=500)
def _counts(looks: tuple[ActionFilter, ...], scopes: tuple[Scope, ...]) -> totals.Together:
    return totals.together([_counting(filters, scopes=scopes) for filters in looks])


def _counting(filters: ActionFilter, *, scopes: Sequence[Scope]) -> totals.Counting:
    chosen: Select[*tuple[Any, ...]] = select(Action.id.label("number")).where(*_conditions(filters))
    if filters.outcomes == {"to_verify"} or filters.states == {"proposed"} or filters.waiting_for is not None:
        visible = in_scope(scopes, tenant=Action.tenant, type=Action.type)
        return totals.Counting(totals.all_rows(chosen.where(visible)), is_capped=False)
    parts = [chosen.where(part).limit(totals.CAP + 1) for part in _parts(scopes)]
    return totals.Counting(totals.up_to_cap(select(keyset.together(parts).c.number)), is_capped=True)


def get_action(session: Session, number: int, *, scopes: Sequence[Scope]) -> Any:
    """One action, its operation, and its child's id and state where the grants reach it; else NotFoundError."""
    row = session.execute(
        select(
            Action,
            Operation,
            proposals.state_at(clock(session)).label("state"),
            _Child.operation_id.label("child_operation_id"),
            _Child.state.label("child_state"),
        )
        .join(Operation, Operation.id == Action.operation_id)
        .outerjoin(_Child, _visible_child(scopes))
        .where(Action.id == number, in_scope(scopes, tenant=Action.tenant, type=Action.type))
    ).one_or_none()
    if row is None:
        raise NotFoundError(action=number)
    return row


def actions_of(session: Session, number: int, *, scopes: Sequence[Scope], now: datetime) -> Sequence[Any]:
    """The newest actions asked for on the operation with this row number; at most twenty."""
    return rows(session, _newest_of_one(tuple(scopes)), {"number": number, "now": now}).all()


@lru_cache(maxsize=500)
def _newest_of_one(scopes: tuple[Scope, ...]) -> Select[*tuple[Any, ...]]:
    columns = (
        Action.id,
        Action.action,
        proposals.state_at(NOW).label("state"),
        Action.outcome,
        Action.reason_code,
        Action.requested_by,
        Action.requested_at,
        _Child.operation_id.label("child_operation_id"),
        _Child.state.label("child_state"),
    )
    return (
        select(*columns)
        .outerjoin(_Child, _visible_child(scopes))
        .where(Action.operation_id == NUMBER)
        .order_by(Action.id.desc())
        .limit(20)
    )


def votes_on(session: Session, number: int) -> Sequence[Approval]:
    """What people decided about an action, oldest first."""
    return session.scalars(select(Approval).where(Approval.action_id == number).order_by(Approval.id)).all()


def _visible_child(scopes: Sequence[Scope]) -> ColumnElement[bool]:
    # A compensation has a type of its own, which a grant for the parent's type need not reach.
    return and_(_Child.id == Action.child_id, in_scope(scopes, tenant=_Child.tenant, type=_Child.type))


def _parts(scopes: Sequence[Scope]) -> list[ColumnElement[bool]]:
    """What each grant makes visible, for an index of its own; nothing where there is none."""
    return [in_scope([scope], tenant=Action.tenant, type=Action.type) for scope in scopes] or [false()]


def _conditions(filters: ActionFilter) -> list[ColumnElement[bool]]:
    found: list[ColumnElement[bool]] = []
    if filters.actions:
        found.append(Action.action.in_(sorted(filters.actions)))
    if filters.states:
        found.append(proposals.in_states(filters.states, now=NOW))
    if filters.waiting_for:
        found.append(proposals.waiting_for(filters.waiting_for, now=NOW))
    if filters.outcomes:
        found.append(Action.outcome.in_(sorted(filters.outcomes)))
    if filters.requested_by:
        found.append(Action.requested_by == filters.requested_by)
    return [*found, *_reviewed(filters)]


def _reviewed(filters: ActionFilter) -> list[ColumnElement[bool]]:
    """What the figures of a report narrow the list to beside."""
    found: list[ColumnElement[bool]] = []
    if filters.types:
        found.append(Action.type.in_(sorted(filters.types)))
    if filters.reasons:
        found.append(Action.reason_code.in_(sorted(filters.reasons)))
    if filters.since:
        found.append(Action.requested_at >= filters.since)
    if filters.until:
        found.append(Action.requested_at < filters.until)
    if filters.voter or filters.votes:
        votes = select(1).where(Approval.action_id == Action.id)
        votes = votes.where(Approval.voter == filters.voter) if filters.voter else votes
        votes = votes.where(Approval.vote.in_(sorted(filters.votes))) if filters.votes else votes
        found.append(exists(votes))
    return found
