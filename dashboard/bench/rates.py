"""How fast the product claims, imports, appends to the audit log and verifies it, on what a database holds already."""

import io
import json
import secrets
import statistics
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy.orm import Session

from dashboard.bench import lives, shop
from dashboard.bench.scratch import TENANT
from dashboard.db import Database, clock, reading, transact
from dashboard.domain.permissions import Actor
from dashboard.domain.states import ActorKind
from dashboard.services import audit, audit_checks, leases, rollups
from dashboard.services.import_rows import Rejected
from dashboard.services.importing import import_lines
from dashboard.services.policies import Policies

WORKER = Actor(ActorKind.WORKER, "bench")
BENCH = Actor(ActorKind.SYSTEM, "bench")
CLAIMS, AT_ONCE = 15, 100
JSON = frozenset({"expected", "evidence"})
MOMENTS = ("at", "_since", "_until")
TYPES = tuple(kind.type for kind in shop.KINDS)


@dataclass(frozen=True)
class Rate:
    """How many of what, and how long that took."""

    count: int
    seconds: float

    @property
    def per_second(self) -> float:
        """How many a second."""
        return self.count / max(self.seconds, 1e-6)


class _UndoError(Exception):
    """Raised to take back what a unit did."""


def claims(database: Database, *, policies: Policies) -> Rate | None:
    """The median of claims of a hundred due operations, each taken back; None where so many are not due."""
    took: list[float] = []
    counts: list[int] = []

    def unit(session: Session) -> None:
        began = time.perf_counter()
        claimed = leases.claim(
            session, types=TYPES, policies=policies, actor=WORKER, heartbeat=lambda _work: None, limit=AT_ONCE
        )
        session.flush()
        took.append(time.perf_counter() - began)
        counts.append(len(claimed))
        raise _UndoError

    for _ in range(CLAIMS):
        try:
            transact(database, unit)
        except _UndoError:
            continue
    return Rate(min(counts), statistics.median(took)) if min(counts) else None


def appended(database: Database, *, entries: int) -> Rate:
    """Append entries to the audit log, each in a transaction of its own."""

    def unit(session: Session) -> None:
        now = clock(session)
        audit.append(session, actor=BENCH, action="note", subject="benchmark", now=now, reason="measured")

    began = time.perf_counter()
    for _ in range(entries):
        transact(database, unit)
    return Rate(entries, time.perf_counter() - began)


def verified(database: Database) -> Rate:
    """Verify the whole audit log; AssertionError where it is broken."""
    began = time.perf_counter()
    with reading(database) as session:
        found = audit_checks.verify_all(session)
    if not found.intact:
        raise AssertionError(found)
    return Rate(found.checked, time.perf_counter() - began)


def imported(database: Database, *, operations: int, policies: Policies) -> Rate:
    """Import a file of ended operations with their events; in lines."""
    with reading(database) as session:
        now = clock(session)
    lines = [json.dumps(line).encode() for line in _lines(shop.size_of(operations), now=now)]
    source = io.BytesIO(b"\n".join(lines) + b"\n")
    began = time.perf_counter()
    import_lines(database, source=source, name="benchmark", actor=BENCH, policies=policies, reject=_refuse)
    took = time.perf_counter() - began
    rollups.fold(database)
    return Rate(len(lines), took)


def _refuse(rejected: Rejected) -> None:
    raise AssertionError(rejected.problems)


def _lines(size: shop.Size, *, now: datetime) -> Iterator[dict[str, object]]:
    """The same shop as lines of a file, under the one tenant and with ids of their own."""
    run = secrets.token_hex(4)
    for life in lives.lives(range(1, size.operations + 1), size, now=now):
        name = f"{life.operation_id}-{run}"
        row = {**_told(zip(lives.OPERATION, life.row, strict=True)), "operation_id": name, "tenant": TENANT}
        yield {"kind": "operation", **row}
        for event in life.events:
            told = _told(zip(lives.EVENT, event, strict=True))
            yield {**told, "operation_id": name, "event": told["kind"], "kind": "event"}


def _told(columns: Iterable[tuple[str, Any]]) -> dict[str, object]:
    """What a line has of these columns."""
    told = {name: value for name, value in columns if value is not None and name != "id"}
    for name, value in told.items():
        if name in JSON:
            told[name] = json.loads(value)
        elif name.endswith(MOMENTS):
            told[name] = f"{value}+00:00"
    return told
