"""A batch of good lines into the tables, each line once and never a line twice.

Lines that are there already are left as they are. Everything happens in the caller's transaction.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from sqlalchemy import Insert, Table, select, tuple_
from sqlalchemy.dialects import mysql, postgresql, sqlite
from sqlalchemy.orm import Session

from dashboard.domain.errors import Problem
from dashboard.domain.redaction import both_sides, redact
from dashboard.models import IdempotencyRecord, Operation, OperationEvent
from dashboard.services.import_lines import ImportLine
from dashboard.services.policies import Policies

OPERATIONS: Table = Operation.metadata.tables["operations"]
EVENTS: Table = OperationEvent.metadata.tables["operation_events"]
RECORDS: Table = IdempotencyRecord.metadata.tables["idempotency_records"]

Row = dict[str, Any]
Key = tuple[Any, ...]


class _Known(NamedTuple):
    """The row of an operation that is in the database."""

    number: int
    type: str


@dataclass(frozen=True)
class Rejected:
    """A line that was not taken, and why: one Problem for each bad field."""

    number: int
    kind: str
    problems: tuple[Problem, ...]
    text: bytes


@dataclass
class Stored:
    """What became of a batch: lines by kind that were new, that were there already, and that were refused."""

    new: Counter[str] = field(default_factory=Counter)
    existing: Counter[str] = field(default_factory=Counter)
    rejected: list[Rejected] = field(default_factory=list)


def store(session: Session, lines: Sequence[ImportLine], *, policies: Policies) -> Stored:
    """Insert what is not there yet; an event or parent needs its operation earlier in the file or in the database."""
    stored = Stored()
    known = _known_operations(session, _named_operations(lines))
    good = _with_known_operations(lines, known, stored)
    _store_operations(session, [line for line in good if line.kind == "operation"], known, policies, stored)
    events = [_event_row(line, known, policies) for line in good if line.kind == "event"]
    _insert_missing(session, EVENTS, events, key=("operation_id", "seq"), kind="event", stored=stored)
    records = [_record_row(line) for line in good if line.kind == "idempotency"]
    key = ("key", "tenant", "operation")
    _insert_missing(session, RECORDS, records, key=key, kind="idempotency", stored=stored)
    return stored


def _named_operations(lines: Iterable[ImportLine]) -> set[str]:
    named = {line.fields["operation_id"] for line in lines if line.kind != "idempotency"}
    return named | {parent for line in lines if (parent := line.fields.get("parent"))}


def _known_operations(session: Session, names: Iterable[str]) -> dict[str, _Known]:
    named = OPERATIONS.c.operation_id.in_(sorted(names))
    rows = session.execute(select(OPERATIONS.c.operation_id, OPERATIONS.c.id, OPERATIONS.c.type).where(named))
    return {row.operation_id: _Known(row.id, row.type) for row in rows}


def _with_known_operations(
    lines: Iterable[ImportLine], known: Mapping[str, _Known], stored: Stored
) -> list[ImportLine]:
    """Walk the lines in order, so that what counts as earlier does not depend on where a batch ends."""
    earlier = set(known)
    good = []
    for line in lines:
        problem = _unknown_operation(line, earlier)
        if problem:
            stored.rejected.append(Rejected(line.number, line.kind, (problem,), line.text))
            continue
        if line.kind == "operation":
            earlier.add(line.fields["operation_id"])
        good.append(line)
    return good


def _unknown_operation(line: ImportLine, earlier: set[str]) -> Problem | None:
    if line.kind == "event" and line.fields["operation_id"] not in earlier:
        return Problem("operation_id", "operation_unknown")
    parent = line.fields.get("parent")
    if parent and parent not in earlier:
        return Problem("parent", "operation_unknown")
    return None


def _store_operations(
    session: Session, lines: list[ImportLine], known: dict[str, _Known], policies: Policies, stored: Stored
) -> None:
    """Insert generation by generation: a child's row holds its parent's number."""
    while lines:
        ready = [line for line in lines if line.fields["parent"] is None or line.fields["parent"] in known]
        lines = [line for line in lines if line.fields["parent"] is not None and line.fields["parent"] not in known]
        rows = [_operation_row(line, known, policies) for line in ready]
        _insert_missing(session, OPERATIONS, rows, key=("operation_id",), kind="operation", stored=stored)
        names = {line.fields["operation_id"] for line in ready} - known.keys()
        known.update(_known_operations(session, names))


def _operation_row(line: ImportLine, known: Mapping[str, _Known], policies: Policies) -> Row:
    row = dict(line.fields)
    parent = row.pop("parent")
    row["parent_id"] = known[parent].number if parent else None
    row["deadline_at"] = row["deadline_at"] or row["created_at"] + policies.deadline_of(row["type"])
    row["state_since"] = row["state_since"] or row["created_at"]
    row["updated_at"] = row["updated_at"] or row["state_since"]
    return row


def _event_row(line: ImportLine, known: Mapping[str, _Known], policies: Policies) -> Row:
    row = dict(line.fields)
    operation = known[row["operation_id"]]
    row["operation_id"] = operation.number
    row["kind"] = row.pop("event")
    row["reason"] = redact(row["reason"])
    row["evidence"] = redact(row["evidence"], paths=both_sides(policies.of(operation.type).redact))
    return row


def _record_row(line: ImportLine) -> Row:
    row = dict(line.fields)
    row["updated_at"] = row["updated_at"] or row["created_at"]
    row["lease_until"] = row["lease_until"] or row["updated_at"]
    row["response_headers"] = redact(row["response_headers"])
    row["response_body"] = None if row["response_body"] is None else row["response_body"].encode()
    return row


def _insert_missing(
    session: Session, table: Table, rows: Sequence[Row], *, key: tuple[str, ...], kind: str, stored: Stored
) -> None:
    if not rows:
        return
    by_key: dict[Key, Row] = {}
    for row in rows:
        by_key.setdefault(tuple(row[name] for name in key), row)
    missing = by_key.keys() - _existing(session, table, key, by_key)
    if missing:
        # Somebody else may insert one of them meanwhile; then theirs stays.
        session.execute(insert_or_ignore(session, table, key), [by_key[name] for name in by_key if name in missing])
    stored.new[kind] += len(missing)
    stored.existing[kind] += len(rows) - len(missing)


def _existing(session: Session, table: Table, key: tuple[str, ...], wanted: Iterable[Key]) -> set[Key]:
    columns = [table.c[name] for name in key]
    keys = list(wanted)
    query = select(*columns).where(columns[0].in_({name[0] for name in keys}))
    if len(key) > 1:
        query = query.where(tuple_(*columns).in_(keys))
    return {tuple(row) for row in session.execute(query)}


def insert_or_ignore(session: Session, table: Table, key: tuple[str, ...]) -> Insert:
    """An INSERT that leaves an existing row alone, and raises on every other conflict with a rule of the table."""
    dialect = session.get_bind().dialect.name
    if dialect == "mysql":
        return mysql.insert(table).on_duplicate_key_update(id=table.c.id)
    if dialect == "postgresql":
        return postgresql.insert(table).on_conflict_do_nothing(index_elements=list(key))
    return sqlite.insert(table).on_conflict_do_nothing(index_elements=list(key))
