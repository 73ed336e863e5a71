"""The statements of a reservation, each built once; times are the database's own, told inside the statement.

So the common way takes two statements and no more: one INSERT to reserve, one UPDATE to record what came of it.
"""

from datetime import datetime
from typing import Any

from sqlalchemy import (
    BigInteger,
    Insert,
    Table,
    Update,
    and_,
    bindparam,
    delete,
    func,
    insert,
    literal_column,
    null,
    or_,
    select,
    update,
)
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.elements import ColumnElement
from sqlalchemy.sql.functions import FunctionElement

from dashboard.db import UTCDateTime
from dashboard.domain.keys import UNSETTLED, KeyState
from dashboard.models import IdempotencyConflict, IdempotencyRecord
from dashboard.services.insert_once import insert_once

RECORDS: Table = IdempotencyRecord.metadata.tables["idempotency_records"]
CONFLICTS: Table = IdempotencyConflict.metadata.tables["idempotency_conflicts"]
SCOPE = ("tenant", "operation", "key")


class after_now(FunctionElement[datetime]):  # noqa: N801 - it reads as a function of SQL
    """The database's time so many microseconds from now."""

    type = UTCDateTime()
    inherit_cache = True


@compiles(after_now, "postgresql")
def _of_postgresql(element: after_now, compiler: SQLCompiler, **settings: Any) -> str:
    return f"(clock_timestamp() + {compiler.process(element.clauses, **settings)} * INTERVAL '1 microsecond')"


@compiles(after_now, "mysql")
def _of_mysql(element: after_now, compiler: SQLCompiler, **settings: Any) -> str:
    return f"(UTC_TIMESTAMP(6) + INTERVAL {compiler.process(element.clauses, **settings)} MICROSECOND)"


@compiles(after_now, "sqlite")
def _of_sqlite(element: after_now, compiler: SQLCompiler, **settings: Any) -> str:
    # As SQLAlchemy writes a datetime: times are compared as text.
    shift = f"({compiler.process(element.clauses, **settings)} / 1000000.0) || ' seconds'"
    return f"(strftime('%Y-%m-%d %H:%M:%f', 'now', {shift}) || '000')"


def _after(name: str) -> ColumnElement[datetime]:
    return after_now(bindparam(name, type_=BigInteger))


NOW: ColumnElement[datetime] = after_now(literal_column("0", BigInteger))


def _written(state: KeyState) -> ColumnElement[str]:
    """A state as a part of the statement: what never changes need not be sent each time."""
    return literal_column(f"'{state.value}'")


_LEASE = _after("lease")
_NEW = {
    **{name: bindparam(name) for name in (*SCOPE, "fingerprint", "fingerprint_version", "field_digests")},
    "state": _written(KeyState.PROCESSING),
    "owner_token": bindparam("token"),
    "lease_until": _LEASE,
    "correlation_id": bindparam("correlation_id"),
    "operation_id": bindparam("operation_id"),
    "replay_count": literal_column("0"),
    "conflict_count": literal_column("0"),
    "created_at": NOW,
    "updated_at": NOW,
}
_UNSETTLED = or_(*(RECORDS.c.state == _written(state) for state in sorted(UNSETTLED)))
_BY_KEY = and_(*(RECORDS.c[name] == bindparam(name) for name in SCOPE))
_MINE = and_(
    *(RECORDS.c[name] == bindparam(f"of_{name}") for name in SCOPE),
    RECORDS.c.owner_token == bindparam("token"),
    _UNSETTLED,
)


INSERTS: dict[str, Insert] = {
    dialect: insert_once(RECORDS, _NEW, dialect=dialect, unique=SCOPE) for dialect in ("postgresql", "sqlite", "mysql")
}

# A locking read sees what is committed now, even where the host reads from an older snapshot.
EXISTING = select(RECORDS, NOW.label("read_at")).where(_BY_KEY).with_for_update()
READ = select(RECORDS, NOW.label("read_at")).where(_BY_KEY)

SETTLE: Update = (
    update(RECORDS)
    .where(_MINE)
    .values(
        state=bindparam("new_state"),
        owner_token=null(),
        response_status=bindparam("status"),
        response_headers=bindparam("headers"),
        response_body=bindparam("body"),
        resource_ids=bindparam("resources"),
        external_reference=func.coalesce(bindparam("reference"), RECORDS.c.external_reference),
        operation_id=func.coalesce(bindparam("bound_to"), RECORDS.c.operation_id),
        completed_at=NOW,
        updated_at=NOW,
        expires_at=_after("retention"),
    )
)
LEAVE: Update = (
    update(RECORDS)
    .where(_MINE)
    .values(
        state=KeyState.PENDING.value,
        owner_token=null(),
        external_reference=func.coalesce(bindparam("reference"), RECORDS.c.external_reference),
        operation_id=func.coalesce(bindparam("bound_to"), RECORDS.c.operation_id),
        updated_at=NOW,
    )
)
EXTEND: Update = update(RECORDS).where(_MINE).values(lease_until=_LEASE, updated_at=NOW)
BIND: Update = update(RECORDS).where(_MINE).values(operation_id=bindparam("bound_to"), updated_at=NOW)
RELEASE = delete(RECORDS).where(_MINE)

_ENDED = and_(RECORDS.c.state == KeyState.PROCESSING.value, RECORDS.c.lease_until <= NOW)
# The owner keeps its token: if it wakes, it may still tell what it did, unless somebody was faster.
LAPSE: Update = (
    update(RECORDS)
    .where(RECORDS.c.id == bindparam("number"), _ENDED)
    .values(state=KeyState.PENDING.value, updated_at=NOW)
)
RETAKE: Update = (
    update(RECORDS)
    .where(RECORDS.c.id == bindparam("number"), or_(_ENDED, RECORDS.c.state == KeyState.PENDING.value))
    .values(state=KeyState.PROCESSING.value, owner_token=bindparam("token"), lease_until=_LEASE, updated_at=NOW)
)
# Written as a literal, or no engine takes the short index of what is open.
_IS_OPEN: ColumnElement[bool] = literal_column("idempotency_records.is_open = 1")
ENDED = select(RECORDS.c.id).where(_IS_OPEN, _ENDED).order_by(RECORDS.c.created_at, RECORDS.c.id)

REPLAYED: Update = (
    update(RECORDS).where(RECORDS.c.id == bindparam("number")).values(replay_count=RECORDS.c.replay_count + 1)
)
CONFLICTED: Update = (
    update(RECORDS)
    .where(RECORDS.c.id == bindparam("number"))
    .values(conflict_count=RECORDS.c.conflict_count + 1, last_conflict_at=bindparam("met_at"))
)
NOTE_CONFLICT = insert(CONFLICTS).values(
    record_id=bindparam("number"),
    at=bindparam("met_at"),
    fingerprint=bindparam("fingerprint"),
    fields=bindparam("fields"),
    actor_id=bindparam("actor"),
    correlation_id=bindparam("correlation_id"),
)
