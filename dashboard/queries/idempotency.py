"""Lists of idempotency records, and one of them beside its operation."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Select, bindparam, func, literal_column, select
from sqlalchemy.orm import Session, defer

from dashboard.db import rows
from dashboard.domain.errors import NotFoundError
from dashboard.domain.keys import UNSETTLED, KeyState
from dashboard.domain.permissions import Scope
from dashboard.models import IdempotencyConflict, IdempotencyRecord, Operation
from dashboard.queries import keyset, totals
from dashboard.queries.keyset import Page, Position, Sort
from dashboard.queries.scoping import by_its_index, in_scope, narrowing

# Enough for 4,000 characters of any script, and one cut in two.
READ_BYTES = 16_003
CONFLICTS_SHOWN = 100

_Record = IdempotencyRecord
IS_OPEN: ColumnElement[bool] = literal_column("idempotency_records.is_open = 1")
CONFLICTED: ColumnElement[bool] = literal_column("idempotency_records.conflicted = 1")
_REPLAYED: ColumnElement[bool] = literal_column("idempotency_records.replayed = 1")
_FAILED: ColumnElement[bool] = literal_column("idempotency_records.failed = 1")

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
    _Record.purged_at,
)


@dataclass(frozen=True)
class RecordFilter:
    """What a list of records is narrowed to.

    `conflicts` keeps those under which another body came, `replayed` those whose answer was sent again; `silent_at`
    those whose worker's lease was over by then, `waiting_since` those that were pending and made before.
    """

    states: frozenset[str] = frozenset()
    tenants: frozenset[str] = frozenset()
    operations: frozenset[str] = frozenset()
    conflicts: bool = False
    replayed: bool = False
    silent_at: datetime | None = None
    waiting_since: datetime | None = None
    key: str | None = None

    @property
    def open_only(self) -> bool:
        """Whether only unsettled records can fit."""
        return bool(self.silent_at or self.waiting_since or (self.states and self.states <= UNSETTLED))


class Choices(NamedTuple):
    """Names that unsettled records have, for the filter's lists."""

    tenants: Sequence[str]
    operations: Sequence[str]


class Body(NamedTuple):
    """The beginning of a stored body, and how many bytes all of it has."""

    start: bytes
    length: int


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


def count_records(session: Session, looks: Sequence[RecordFilter], *, scopes: Sequence[Scope]) -> list[totals.Total]:
    """How many rows each list has: exact for the unsettled and the conflicted, capped otherwise."""
    return totals.several(session, totals.together([_counting(filters, scopes=scopes) for filters in looks]))


def _counting(filters: RecordFilter, *, scopes: Sequence[Scope]) -> totals.Counting:
    rows: Select[*tuple[Any, ...]] = select(_Record.id).where(*_conditions(filters, scopes=scopes))
    exact = filters.conflicts or filters.open_only
    return totals.Counting(totals.all_rows(rows) if exact else totals.up_to_cap(rows), is_capped=not exact)


def choices(session: Session, *, scopes: Sequence[Scope]) -> Choices:
    """The tenants and operations of unsettled records in scope."""
    columns = (_Record.tenant, _Record.operation)
    tenant, operation = narrowed = [narrowing(column) for column in columns]
    visible = in_scope(scopes, tenant=tenant, type=operation)
    pairs = session.execute(select(*columns).where(IS_OPEN, visible).group_by(*narrowed)).all()
    return Choices(sorted({pair.tenant for pair in pairs}), sorted({pair.operation for pair in pairs}))


def get_record(session: Session, number: int, *, scopes: Sequence[Scope]) -> IdempotencyRecord:
    """The record with this number within the grants, without its body; NotFoundError otherwise."""
    visible = in_scope(scopes, tenant=_Record.tenant, type=_Record.operation)
    lean = defer(_Record.response_body, raiseload=True)
    record = session.scalar(select(_Record).where(_Record.id == number, visible).options(lean))
    if record is None:
        raise NotFoundError(idempotency_record=number)
    return record


def body_of(session: Session, number: int) -> Body | None:
    """The beginning of a record's stored body; None where none is kept."""
    body = _Record.response_body
    statement = select(func.substr(body, 1, READ_BYTES), func.length(body)).where(_Record.id == number)
    found = session.execute(statement.where(body.is_not(None))).one_or_none()
    return None if found is None else Body(bytes(found[0] or b""), found[1])


def operation_of(session: Session, record: IdempotencyRecord, *, scopes: Sequence[Scope]) -> Operation | None:
    """The operation the record belongs to; None where there is none within the grants."""
    if record.operation_id is None:
        return None
    named = select(Operation).where(Operation.operation_id == record.operation_id, Operation.tenant == record.tenant)
    return session.scalar(named.where(in_scope(scopes)))


def conflicts_of(session: Session, record: IdempotencyRecord) -> Sequence[Any]:
    """When other content came under the key, which fields differed, and from whom; the newest hundred."""
    conflict = IdempotencyConflict
    columns = (conflict.at, conflict.fields, conflict.actor_id, conflict.correlation_id)
    newest = (conflict.at.desc(), conflict.id.desc())
    return session.execute(
        select(*columns).where(conflict.record_id == record.id).order_by(*newest).limit(CONFLICTS_SHOWN)
    ).all()


def records_of(session: Session, operation: Operation) -> Sequence[Any]:
    """The records that belong to an operation: bound to its id, or under its key in its scope; at most ten."""
    names = ("operation_id", "tenant", "type", "idempotency_key")
    return rows(session, _belonging(), {name: getattr(operation, name) for name in names}).all()


@cache
def _belonging() -> Select[*tuple[Any, ...]]:
    in_tenant = _Record.tenant == bindparam("tenant")
    bound = select(_Record.id).where(_Record.operation_id == bindparam("operation_id"), in_tenant)
    same_key = select(_Record.id).where(
        in_tenant, _Record.operation == bindparam("type"), _Record.key == bindparam("idempotency_key")
    )
    ids = bound.union(same_key).limit(10).subquery("bound")
    columns = [column.label("record_key") if column is _Record.key else column for column in COLUMNS]
    body = func.length(_Record.response_body).label("body_length")
    return select(_Record.id.label("number"), body, *columns).join(ids, ids.c.id == _Record.id).order_by(_Record.id)


def _conditions(filters: RecordFilter, *, scopes: Sequence[Scope]) -> list[ColumnElement[bool]]:
    among = (
        (_Record.state, filters.states),
        (_Record.tenant, filters.tenants),
        (_Record.operation, filters.operations),
    )
    marks = (
        (filters.open_only, IS_OPEN),
        (filters.states == {KeyState.FAILED}, _FAILED),
        (filters.conflicts, CONFLICTED),
        (filters.replayed, _REPLAYED),
    )
    marked = [mark for wanted, mark in marks if wanted]
    # A mark has an index of its own, over few rows.
    narrow = narrowing if marked else by_its_index
    found = [in_scope(scopes, tenant=narrow(_Record.tenant), type=narrow(_Record.operation)), *marked]
    found += [narrow(column).in_(sorted(values)) for column, values in among if values]
    if filters.silent_at:
        found += [_Record.state == KeyState.PROCESSING.value, _Record.lease_until <= filters.silent_at]
    if filters.waiting_since:
        found += [_Record.state == KeyState.PENDING.value, _Record.created_at < filters.waiting_since]
    if filters.key:
        found.append(_Record.key == filters.key)
    return found
