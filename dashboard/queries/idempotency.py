"""Lists of idempotency records, and one of them beside its operation."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Select, func, literal_column, select
from sqlalchemy.orm import Session

from dashboard.domain.errors import NotFoundError
from dashboard.domain.permissions import Scope
from dashboard.models import IdempotencyRecord, Operation
from dashboard.queries import keyset, totals
from dashboard.queries.keyset import Page, Position, Sort
from dashboard.queries.scoping import in_scope

STATES = ("processing", "pending", "completed", "failed")
UNSETTLED = frozenset({"processing", "pending"})
SHOWN_BODY = 4000

_Record = IdempotencyRecord
_IS_OPEN: ColumnElement[bool] = literal_column("idempotency_records.is_open = 1")
_CONFLICTED: ColumnElement[bool] = literal_column("idempotency_records.conflicted = 1")

NEWEST = Sort("newest", _Record.created_at, _Record.id, descending=True, read=keyset.read_time)

COLUMNS = (
    _Record.tenant,
    _Record.operation,
    _Record.key,
    _Record.state,
    _Record.response_status,
    _Record.operation_id,
    _Record.replay_count,
    _Record.conflict_count,
    _Record.last_conflict_at,
    _Record.lease_until,
    _Record.created_at,
    _Record.completed_at,
    _Record.expires_at,
)


@dataclass(frozen=True)
class RecordFilter:
    """What a list of records is narrowed to; `conflicts` keeps those under which another body came."""

    states: frozenset[str] = frozenset()
    tenants: frozenset[str] = frozenset()
    operations: frozenset[str] = frozenset()
    conflicts: bool = False
    key: str | None = None


def list_records(session: Session, filters: RecordFilter, *, scopes: Sequence[Scope], position: Position) -> Page:
    """One page of rows with COLUMNS, newest first."""
    chosen = select(_Record.id.label("number"), _Record.created_at.label("key")).where(
        *_conditions(filters, scopes=scopes)
    )
    ids = keyset.narrow(chosen, sort=NEWEST, position=position).subquery("page")
    # The cursor's column is named `key` in every list, so the record's own key goes by another name here.
    columns = [column.label("record_key") if column is _Record.key else column for column in COLUMNS]
    wide = (
        select(ids.c.number, ids.c.key, *columns)
        .select_from(ids)
        .join(_Record, _Record.id == ids.c.number)
        .order_by(*keyset.wide_order(NEWEST, position, key=ids.c.key, number=ids.c.number))
    )
    return keyset.fetch(session, wide, sort=NEWEST, position=position)


def count_records(session: Session, filters: RecordFilter, *, scopes: Sequence[Scope]) -> totals.Total:
    """How many rows the list has: exact for the unsettled and the conflicted, capped otherwise."""
    statement: Select[*tuple[Any, ...]] = select(_Record.id).where(*_conditions(filters, scopes=scopes))
    bounded = filters.conflicts or bool(filters.states and filters.states <= UNSETTLED)
    return totals.exact(session, statement) if bounded else totals.capped(session, statement)


def get_record(session: Session, number: int, *, scopes: Sequence[Scope]) -> IdempotencyRecord:
    """The record with this number within the grants; NotFoundError otherwise."""
    visible = in_scope(scopes, tenant=_Record.tenant, type=_Record.operation)
    record = session.scalar(select(_Record).where(_Record.id == number, visible))
    if record is None:
        raise NotFoundError(idempotency_record=number)
    return record


def records_of(session: Session, operation: Operation) -> Sequence[Any]:
    """The records that belong to an operation: bound to its id, or under its key in its scope; at most ten."""
    bound = select(_Record.id).where(_Record.operation_id == operation.operation_id, _Record.tenant == operation.tenant)
    same_key = select(_Record.id).where(
        _Record.tenant == operation.tenant,
        _Record.operation == operation.type,
        _Record.key == operation.idempotency_key,
    )
    ids = bound.union(same_key).limit(10).subquery("bound")
    columns = [column.label("record_key") if column is _Record.key else column for column in COLUMNS]
    body = func.length(_Record.response_body).label("body_length")
    return session.execute(
        select(_Record.id.label("number"), body, *columns).join(ids, ids.c.id == _Record.id).order_by(_Record.id)
    ).all()


def _conditions(filters: RecordFilter, *, scopes: Sequence[Scope]) -> list[ColumnElement[bool]]:
    found = [in_scope(scopes, tenant=_Record.tenant, type=_Record.operation)]
    if filters.states:
        found.append(_Record.state.in_(sorted(filters.states)))
        if filters.states <= UNSETTLED:
            found.append(_IS_OPEN)
    if filters.tenants:
        found.append(_Record.tenant.in_(sorted(filters.tenants)))
    if filters.operations:
        found.append(_Record.operation.in_(sorted(filters.operations)))
    if filters.conflicts:
        found.append(_CONFLICTED)
    if filters.key:
        found.append(_Record.key == filters.key)
    return found
