"""Filling an empty database with a shop of any size, fast, and knowing it again.

Rows go in by COPY on PostgreSQL and in many at once elsewhere, past the triggers of the counters, which are counted
anew at the end. The first entry of the audit log says what was filled, so that a later run finds it.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, select, text, update

from dashboard.bench import attached, lives, shop
from dashboard.bench.bare_tables import bare_tables
from dashboard.bench.scratch import Progress
from dashboard.bench.shop import Size
from dashboard.db import Database, clock, reading, transaction
from dashboard.domain.chain import entry_hash
from dashboard.models import AuditEntry, AuditHead, ReconciliationRun, Record
from dashboard.services import rollup_rebuild, statistics
from dashboard.services.audit import HASHED_COLUMNS, hashed_time

AT_ONCE = 20_000
FILLED = "bench_filled"
ACTOR = "bench"
# A form of rows that is another one is another filling.
FORM = 1
ENTRY = ("seq", *HASHED_COLUMNS[1:], "previous_hash", "hash")
NUMBERED = ("operations", "idempotency_records", "reconciliation_runs")
PRECIOUS = ("operations", "idempotency_records", "outbox_messages", "reconciliation_runs", "audit_log", "users")


@dataclass
class _Chain:
    """The audit log so far."""

    seq: int = 0
    hash: str | None = None

    def append(self, entry: Mapping[str, Any]) -> tuple[Any, ...]:
        """The next entry as it is stored."""
        self.seq += 1
        values = {name: entry.get(name) for name in HASHED_COLUMNS} | {"seq": self.seq}
        previous = self.hash
        self.hash = entry_hash(previous, [*(values | {"at": hashed_time(values["at"])}).items()])
        return (*values.values(), previous, self.hash)


@dataclass
class _Filling:
    """What is counted while rows go in."""

    connection: Connection
    size: Size
    now: datetime
    chain: _Chain = field(default_factory=_Chain)
    found: dict[int, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))


def filled(database: Database) -> Size | None:
    """What an earlier run filled this database with; None where it did not."""
    with reading(database) as session:
        first = session.execute(select(AuditEntry.action, AuditEntry.after).where(AuditEntry.seq == 1)).one_or_none()
    if first is None or first.action != FILLED:
        return None
    told = json.loads(first.after or "{}")
    return Size(told["operations"], told["open"], told["seed"]) if told.get("form") == FORM else None


def is_empty(database: Database) -> bool:
    """Whether no table has a row that somebody may miss."""
    with reading(database) as session:
        return not any(session.scalar(text(f"SELECT 1 FROM {name} LIMIT 1")) for name in PRECIOUS)  # noqa: S608 - ours


def fill(database: Database, size: Size, *, progress: Progress, days: Progress = lambda _days: None) -> None:
    """Fill an empty database and count its figures."""
    with transaction(database) as session:
        filling = _Filling(session.connection(), size, clock(session))
        with bare_tables(filling.connection):
            _put(filling, "audit_log", ENTRY, [filling.chain.append(_told(filling))])
            _put(filling, "reconciliation_runs", attached.RUN, [*attached.runs_of(now=filling.now)])
            for numbers in shop.chunks(size.operations, at_once=AT_ONCE):
                _fill_some(filling, numbers)
                progress(numbers.stop - 1)
            _count_runs(filling)
            head = {"seq": filling.chain.seq, "hash": filling.chain.hash}
            session.execute(update(AuditHead).where(AuditHead.id == 1).values(**head))
        _continue_numbers(filling.connection)
    # The connection that filled keeps much in memory.
    database.dispose()
    rollup_rebuild.rebuild(database, progress=days)
    _look_over(database)


def _told(filling: _Filling) -> Mapping[str, Any]:
    after = json.dumps({"form": FORM, **asdict(filling.size)}, sort_keys=True)
    return {"at": lives.stored(filling.now), "actor_kind": "system", "actor_id": ACTOR, "action": FILLED,
            "subject": "database", "outcome": "done", "after": after}  # fmt: skip


def _fill_some(filling: _Filling, numbers: range) -> None:
    some = list(lives.lives(numbers, filling.size, now=filling.now))
    _put(filling, "operations", lives.OPERATION, [life.row for life in some])
    _put(filling, "operation_events", lives.EVENT, [event for life in some for event in life.events])
    hanging: tuple[tuple[str, Sequence[str], Callable[[lives.Life], lives.Row | None]], ...] = (
        ("idempotency_records", attached.RECORD, attached.record_of),
        ("idempotency_conflicts", attached.CONFLICT, attached.conflict_of),
        ("outbox_messages", attached.MESSAGE, lambda life: attached.message_of(life, filling.size)),
        ("reconciliation_findings", attached.FINDING, lambda life: attached.finding_of(life, now=filling.now)),
    )
    for table, columns, made in hanging:
        rows = [row for life in some if (row := made(life)) is not None]
        _put(filling, table, columns, rows)
        if columns is attached.FINDING:
            for run, *_, verdict in (row[:8] for row in rows):
                filling.found[run][verdict] += 1
    actions = [(life, attached.action_of(life)) for life in some]
    _put(filling, "actions", attached.ACTION, [action for _, action in actions if action])
    entries = [entry for life, action in actions for entry in attached.entries_of(life, action)]
    _put(filling, "audit_log", ENTRY, [filling.chain.append(entry) for entry in entries])


def _put(filling: _Filling, table: str, columns: Sequence[str], rows: Sequence[tuple[Any, ...]]) -> None:
    if not rows:
        return
    connection = filling.connection
    names = ", ".join(connection.dialect.identifier_preparer.quote(name) for name in columns)
    if connection.dialect.name == "postgresql":
        _copy(connection, f"COPY {table} ({names}) FROM STDIN", rows)
        return
    mark = "?" if connection.dialect.name == "sqlite" else "%s"
    marks = ", ".join([mark] * len(columns))
    connection.exec_driver_sql(f"INSERT INTO {table} ({names}) VALUES ({marks})", list(rows))  # noqa: S608 - ours


def _copy(connection: Connection, statement: str, rows: Sequence[tuple[Any, ...]]) -> None:
    driver: Any = connection.connection.driver_connection
    with driver.cursor() as cursor, cursor.copy(statement) as copy:
        for row in rows:
            copy.write_row(row)


def _count_runs(filling: _Filling) -> None:
    # Their rows come first: SQLite looks for the children of each new row while one of them has no parent.
    run = ReconciliationRun
    for number, found in filling.found.items():
        total = sum(found.values())
        counts = {**found, "examined": total, "acted": total}
        filling.connection.execute(update(run).where(run.id == number).values(**counts))


def _continue_numbers(connection: Connection) -> None:
    """Let PostgreSQL count on from the numbers that were given; the others do so anyway."""
    if connection.dialect.name == "postgresql":
        for table in NUMBERED:
            connection.execute(text(f"SELECT setval(pg_get_serial_sequence('{table}', 'id'), max(id)) FROM {table}"))  # noqa: S608


def _look_over(database: Database) -> None:
    """Let the engine know what it holds, as it would by itself after a while, or the worker for SQLite."""
    names = ", ".join(Record.metadata.tables)
    statement = {"postgresql": "VACUUM (ANALYZE)", "mysql": f"ANALYZE TABLE {names}"}.get(database.dialect)
    statistics.refresh(database)
    if statement:
        with database.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            connection.exec_driver_sql(statement)
