"""The outbox on screens: what waits, what is dead and what it holds up, which sinks are away."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any

from sqlalchemy import ColumnElement, Select, and_, exists, func, literal_column, null, select
from sqlalchemy.orm import Session, aliased

from dashboard.db import rows
from dashboard.domain.errors import NotFoundError
from dashboard.domain.messages import MessageState
from dashboard.domain.permissions import Scope
from dashboard.models import AwaySink, Operation, OutboxDecision, OutboxMessage
from dashboard.queries import keyset, totals
from dashboard.queries.keyset import Page, Position, Sort
from dashboard.queries.scoping import in_scope

_Message = OutboxMessage
_Dead = aliased(OutboxMessage)
_Waiting = aliased(OutboxMessage)
_IS_OPEN: ColumnElement[bool] = literal_column("outbox_messages.is_open = 1")

NEWEST = Sort("newest", _Message.id, _Message.id, descending=True, read=int)
OLDEST = Sort("oldest", _Message.id, _Message.id, descending=False, read=int)
SORTS = {sort.name: sort for sort in (NEWEST, OLDEST)}

COLUMNS = (
    _Message.message_id,
    _Message.tenant,
    _Message.type,
    _Message.sink,
    _Message.topic,
    _Message.aggregate_key,
    _Message.state,
    _Message.claims,
    _Message.next_attempt_at,
    _Message.lease_until,
    _Message.last_error,
    _Message.created_at,
    _Message.published_at,
)


@dataclass(frozen=True)
class MessageFilter:
    """What a list of messages is narrowed to; `held_up` keeps those that wait behind a dead letter of their key."""

    state: str = MessageState.PENDING.value
    held_up: bool = False
    sink: str | None = None
    key: str | None = None


@dataclass(frozen=True)
class Figures:
    """How many messages wait, wait behind a dead letter, and are dead; and since when the oldest waits."""

    pending: int
    held_up: int
    dead: int
    oldest_at: datetime | None


def figures(session: Session, *, scopes: Sequence[Scope]) -> Figures:
    """Count what is not published yet; the published history is never read."""
    pending, dead, oldest_at = rows(session, _counted(tuple(scopes))).one()
    behind_a_dead_one = select(func.count()).select_from(_Message).where(_IS_OPEN, _behind_a_dead_one())
    held_up = session.scalar(behind_a_dead_one.where(_visible(scopes))) if dead else 0
    return Figures(pending, held_up or 0, dead, oldest_at)


@lru_cache(maxsize=500)
def _counted(scopes: tuple[Scope, ...]) -> Select[*tuple[Any, ...]]:
    """How many are pending, how many dead, and since when the oldest is pending."""
    visible = _visible(scopes)
    of_state = {state: (_Message.state == state.value, visible) for state in (MessageState.PENDING, MessageState.DEAD)}
    count = select(func.count()).select_from(_Message)
    oldest = select(_Message.created_at).where(*of_state[MessageState.PENDING]).order_by(_Message.id).limit(1)
    return select(
        count.where(_IS_OPEN, visible).scalar_subquery(),
        count.where(*of_state[MessageState.DEAD]).scalar_subquery(),
        oldest.scalar_subquery(),
    )


def list_messages(
    session: Session, filters: MessageFilter, *, scopes: Sequence[Scope], position: Position, oldest_first: bool
) -> Page:
    """One page of rows with COLUMNS, and with `behind`: how many wait behind each dead letter."""
    sort = OLDEST if oldest_first else NEWEST
    return keyset.fetch(session, _page(filters, tuple(scopes), position.shape, sort.name), sort=sort, position=position)


@lru_cache(maxsize=500)
def _page(
    filters: MessageFilter, scopes: tuple[Scope, ...], position: Position, order: str
) -> Select[*tuple[Any, ...]]:
    sort = SORTS[order]
    chosen = select(_Message.id.label("number"), _Message.id.label("key")).where(*_conditions(filters, scopes=scopes))
    ids = keyset.narrow(chosen, sort=sort, position=position).subquery("page")
    behind = _behind() if filters.state == MessageState.DEAD else null()
    return (
        select(ids.c.number, ids.c.key, *COLUMNS, behind.label("behind"))
        .select_from(ids)
        .join(_Message, _Message.id == ids.c.number)
        .order_by(*keyset.wide_order(sort, position, key=ids.c.key, number=ids.c.number))
    )


def count_messages(session: Session, filters: MessageFilter, *, scopes: Sequence[Scope]) -> totals.Total:
    """How many rows the list has: exact for what is not published yet, capped otherwise."""
    return totals.read(session, _count(filters, tuple(scopes)), is_capped=not _is_open(filters))


@lru_cache(maxsize=500)
def _count(filters: MessageFilter, scopes: tuple[Scope, ...]) -> Select[int]:
    chosen: Select[*tuple[Any, ...]] = select(_Message.id).where(*_conditions(filters, scopes=scopes))
    return totals.all_rows(chosen) if _is_open(filters) else totals.up_to_cap(chosen)


def _is_open(filters: MessageFilter) -> bool:
    return filters.state in {MessageState.PENDING, MessageState.DEAD}


def get_message(session: Session, message_id: str, *, scopes: Sequence[Scope]) -> Any:
    """One message and its operation's public id where the grants reach it; NotFoundError otherwise."""
    reached = and_(
        Operation.id == _Message.operation_id, in_scope(scopes, tenant=Operation.tenant, type=Operation.type)
    )
    row = session.execute(
        select(_Message, Operation.operation_id)
        .outerjoin(Operation, reached)
        .where(_Message.message_id == message_id, _visible(scopes))
    ).one_or_none()
    if row is None:
        raise NotFoundError(message_id=message_id)
    return row


def ahead_of(session: Session, message: OutboxMessage) -> Sequence[Any]:
    """The messages of the same key that go first, oldest first; at most twenty."""
    return session.execute(
        select(_Message.message_id, _Message.state, _Message.created_at)
        .where(
            _Message.sink == message.sink,
            _Message.aggregate_key == message.aggregate_key,
            _Message.state.in_((MessageState.PENDING.value, MessageState.DEAD.value)),
            _Message.id < message.id,
        )
        .order_by(_Message.id)
        .limit(20)
    ).all()


def behind(session: Session, message: OutboxMessage) -> int:
    """How many messages of the same key wait behind this one."""
    return (
        session.scalar(
            select(func.count())
            .select_from(_Message)
            .where(
                _Message.sink == message.sink,
                _Message.aggregate_key == message.aggregate_key,
                _Message.state == MessageState.PENDING.value,
                _Message.id > message.id,
            )
        )
        or 0
    )


def decisions(session: Session, message: OutboxMessage) -> Sequence[OutboxDecision]:
    """What people decided about this message, newest first."""
    return session.scalars(
        select(OutboxDecision).where(OutboxDecision.outbox_message_id == message.id).order_by(OutboxDecision.id.desc())
    ).all()


def away_sinks(session: Session) -> Sequence[Any]:
    """The sinks that take nothing at the moment, the longest away first, with the columns of AwaySink."""
    return rows(session, select(*AwaySink.__table__.c).order_by(AwaySink.since, AwaySink.sink)).all()


def waiting_sinks(session: Session, *, scopes: Sequence[Scope]) -> Sequence[str]:
    """The names of the sinks for which anything waits."""
    named = select(_Message.sink).where(_IS_OPEN, _visible(scopes)).distinct().order_by(_Message.sink)
    return rows(session, named).scalars().all()


def _behind() -> Any:
    return (
        select(func.count())
        .select_from(_Waiting)
        .where(
            _Waiting.sink == _Message.sink,
            _Waiting.aggregate_key == _Message.aggregate_key,
            _Waiting.state == MessageState.PENDING.value,
            _Waiting.id > _Message.id,
        )
        .scalar_subquery()
    )


def _behind_a_dead_one() -> ColumnElement[bool]:
    return exists().where(
        _Dead.sink == _Message.sink,
        _Dead.aggregate_key == _Message.aggregate_key,
        _Dead.state == MessageState.DEAD.value,
        _Dead.id < _Message.id,
    )


def _visible(scopes: Sequence[Scope]) -> ColumnElement[bool]:
    return in_scope(scopes, tenant=_Message.tenant, type=_Message.type)


def _conditions(filters: MessageFilter, *, scopes: Sequence[Scope]) -> list[ColumnElement[bool]]:
    found = [_visible(scopes), _Message.state == filters.state]
    if filters.state == MessageState.PENDING:
        found.append(_IS_OPEN)
    if filters.held_up:
        found.append(_behind_a_dead_one())
    if filters.sink:
        found.append(_Message.sink == filters.sink)
    if filters.key:
        found.append(_Message.aggregate_key == filters.key)
    return found
