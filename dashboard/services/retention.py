"""Retention: what is settled long enough loses its contents, in small batches, and keeps its place.

Of a settled idempotency record the answer and the digests go, at `expires_at`, or its operation's `retention` after
it was settled where it has none; what stays is a tombstone, so that a late repeat is known and never run again. Of an
ended operation, `retention` of its type after its end, the bodies go and what machines saw is reduced to its verdict;
its row, its history, and what people decided on stay. Nothing goes while anything about it is open.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, astuple, dataclass
from datetime import datetime
from functools import partial
from typing import Any

from sqlalchemy import ColumnElement, Select, and_, exists, func, literal_column, null, or_, select, update
from sqlalchemy.orm import InstrumentedAttribute, Session, aliased
from sqlalchemy.sql.expression import SQLColumnExpression

from dashboard.db import Database, clock, reading, transact
from dashboard.domain.permissions import Actor
from dashboard.domain.policy import Policies
from dashboard.models import Action, IdempotencyRecord, Operation
from dashboard.services import audit, purged_evidence
from dashboard.services.purged_evidence import Contents

ACTION = "retention"
AT_ONCE = 200
PROPOSED, TO_VERIFY = "proposed", "to_verify"
_Record = IdempotencyRecord
_KEPT: ColumnElement[bool] = literal_column("idempotency_records.kept = 1")
_LASTING: ColumnElement[bool] = literal_column("idempotency_records.lasting = 1")


@dataclass(frozen=True)
class Purged:
    """How much was purged, or would be: `records` and `operations`, and of these what they held."""

    records: int = 0
    operations: int = 0
    payloads: int = 0
    evidence: int = 0
    received: int = 0

    def __add__(self, other: "Purged") -> "Purged":
        return Purged(*(one + two for one, two in zip(astuple(self), astuple(other), strict=True)))

    def __bool__(self) -> bool:
        return any(astuple(self))


@dataclass(frozen=True)
class _Sweep:
    """What is due to go, in the order of an index that holds nothing else, and what takes its contents away."""

    due: Select[*tuple[Any, ...]]
    key: SQLColumnExpression[Any]
    number: InstrumentedAttribute[int]
    clear: Callable[..., Purged]


def purge(
    database: Database,
    *,
    policies: Policies,
    actor: Actor,
    batches: int | None = None,
    at_once: int = AT_ONCE,
    progress: Callable[[Purged], None] | None = None,
    stop: Callable[[], bool] = lambda: False,
) -> Purged:
    """Purge what is due, at most so many batches of `at_once` rows, and leave one audit entry where anything went.

    Each batch is a transaction of its own: whoever ends this at any moment leaves whole batches done.
    """
    total = Purged()
    try:
        for number, purged in enumerate(_batches(database, policies, at_once=at_once, write=True), start=1):
            total += purged
            if progress:
                progress(total)
            if stop() or number == batches:
                break
    finally:
        if total:
            transact(database, partial(_record, purged=total, actor=actor, policies=policies))
    return total


def would_purge(database: Database, *, policies: Policies, progress: Callable[[Purged], None] | None = None) -> Purged:
    """Count exactly what `purge` would take now, and change nothing."""
    total = Purged()
    for purged in _batches(database, policies, at_once=AT_ONCE, write=False):
        total += purged
        if progress:
            progress(total)
    return total


def _batches(database: Database, policies: Policies, *, at_once: int, write: bool) -> Iterator[Purged]:
    with reading(database) as session:
        sweeps = list(_sweeps(session, policies))
    for sweep in sweeps:
        after: Any = None
        while True:
            step = partial(_step, sweep=sweep, after=after, at_once=at_once, write=write)
            purged, after = transact(database, step) if write else _read(database, step)
            if after is None:
                break
            yield purged


def _read(database: Database, step: Callable[[Session], tuple[Purged, Any]]) -> tuple[Purged, Any]:
    with reading(database) as session:
        return step(session)


def _step(session: Session, *, sweep: _Sweep, after: Any, at_once: int, write: bool) -> tuple[Purged, Any]:
    """Take the next batch; the second value is its last row, None at the end."""
    due = sweep.due.order_by(sweep.key, sweep.number).limit(at_once)
    if after is not None:
        due = due.where(sweep.key >= after.key, or_(sweep.key > after.key, sweep.number > after.number))
    # What somebody else holds now is in use, or being purged by another process.
    rows = session.execute(due.with_for_update(skip_locked=True) if write else due).all()
    if not rows:
        return Purged(), None
    return sweep.clear(session, [row.number for row in rows], write=write), rows[-1]


def _sweeps(session: Session, policies: Policies) -> Iterator[_Sweep]:
    now = clock(session)
    yield _records(_Record.expires_at, _KEPT, _Record.expires_at <= now)
    for name in _names(session, _Record.operation, _LASTING):
        settled = _Record.completed_at <= now - policies.of(name).retention
        yield _records(_Record.completed_at, _LASTING, _Record.operation == name, settled)
    for name in _names(session, Operation.type):
        ended = Operation.settled_since <= now - policies.of(name).retention
        due = _due(Operation.id, Operation.settled_since).where(Operation.type == name, ended, ~_in_use(Operation))
        yield _Sweep(due, Operation.settled_since, Operation.id, _clear_operations)


def _records(key: InstrumentedAttribute[datetime | None], *conditions: ColumnElement[bool]) -> _Sweep:
    due = _due(_Record.id, key).where(*conditions, *_free())
    return _Sweep(due, key, _Record.id, _clear_records)


def _due(number: InstrumentedAttribute[int], key: InstrumentedAttribute[Any]) -> Select[*tuple[Any, ...]]:
    return select(number.label("number"), key.label("key"))


def _names(session: Session, column: InstrumentedAttribute[str], *within: ColumnElement[bool]) -> list[str]:
    """The different values of a column, each by one step through an index."""
    found = [""]
    step = select(column).where(*within).order_by(column).limit(1)
    while (name := session.scalar(step.where(column > found[-1]))) is not None:
        found.append(name)
    return found[1:]


def _free() -> list[ColumnElement[bool]]:
    """No operation that a record belongs to is in use: the one it names, and the one that has its key."""
    operation = aliased(Operation)
    same_tenant = operation.tenant == _Record.tenant
    named = operation.operation_id == _Record.operation_id
    same_key = and_(operation.type == _Record.operation, operation.idempotency_key == _Record.key)
    return [~exists().where(match, same_tenant, _in_use(operation)) for match in (named, same_key)]


def _in_use(operation: Any) -> ColumnElement[bool]:
    """Whether it is open, or what it compensates or is compensated by is, or an action waits for approval or proof."""
    relative, action = aliased(Operation), aliased(Action)
    waiting = or_(action.outcome == TO_VERIFY, action.state == PROPOSED)
    return or_(
        operation.is_open.is_not(None),
        exists().where(relative.parent_id == operation.id, relative.is_open.is_not(None)),
        exists().where(relative.id == operation.parent_id, relative.is_open.is_not(None)),
        exists().where(action.operation_id == operation.id, waiting),
        exists().where(action.child_id == operation.id, waiting),
    )


def _clear_records(session: Session, numbers: Sequence[int], *, write: bool) -> Purged:
    if not write:
        return Purged(records=len(numbers))
    gone = dict.fromkeys(("response_headers", "response_body", "field_digests"), null())
    now = clock(session)
    # A tombstone tells a repeat that its answer has expired, whichever rule took it.
    marks = {"purged_at": now, "expires_at": func.coalesce(_Record.expires_at, now)}
    cleared = session.connection().execute(
        update(_Record).where(_Record.id.in_(numbers), _KEPT).values(**gone, **marks)
    )
    return Purged(records=cleared.rowcount)


def _clear_operations(session: Session, numbers: Sequence[int], *, write: bool) -> Purged:
    held = purged_evidence.clear(session, numbers) if write else purged_evidence.count(session, numbers)
    if write:
        # Nothing that a person decides on changes, so the revision stays.
        session.connection().execute(
            update(Operation).where(Operation.id.in_(numbers)).values(purged_at=clock(session))
        )
    return _counted(len(numbers), held)


def _counted(operations: int, held: Contents) -> Purged:
    return Purged(operations=operations, payloads=held.payloads, evidence=held.evidence, received=held.received)


def _record(session: Session, *, purged: Purged, actor: Actor, policies: Policies) -> None:
    audit.append(
        session,
        actor=actor,
        action=ACTION,
        subject=ACTION,
        now=clock(session),
        after=asdict(purged),
        evidence={"policy_hash": policies.hash},
    )
