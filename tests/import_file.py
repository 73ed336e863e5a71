"""Lines of import files for tests: each function fills what the test does not care about."""

import json
from pathlib import Path
from typing import Any

from sqlalchemy import func, select

from dashboard.db import Database, reading
from dashboard.domain.permissions import Actor
from dashboard.domain.states import ActorKind
from dashboard.models import IdempotencyRecord, Operation, OperationEvent
from dashboard.services.import_rows import Rejected
from dashboard.services.importing import BATCH_LINES, ImportSummary, import_lines
from dashboard.services.policies import Policies

AT = "2026-11-14T05:08:10.678107Z"
ACTOR = Actor(ActorKind.SYSTEM, "command line, test")


def operation(**values: Any) -> dict[str, Any]:
    """A line of an operation."""
    return {
        "kind": "operation",
        "operation_id": "op-1",
        "tenant": "loja-br",
        "type": "sync_customer",
        "entity_type": "customer",
        "entity_id": "1349",
        "destination": "crm",
        "state": "confirmed",
        "created_at": AT,
        **values,
    }


def event(**values: Any) -> dict[str, Any]:
    """A line of an event."""
    return {"kind": "event", "operation_id": "op-1", "seq": 1, "at": AT, "event": "note", **values}


def record(**values: Any) -> dict[str, Any]:
    """A line of an idempotency record."""
    return {
        "kind": "idempotency",
        "tenant": "loja-br",
        "operation": "charge_order",
        "key": "key-1",
        "fingerprint": "f" * 64,
        "state": "completed",
        "created_at": AT,
        **values,
    }


def as_text(line: object) -> bytes:
    """The line as it stands in a file; bytes stay as they are."""
    return line if isinstance(line, bytes) else json.dumps(line).encode()


def write(path: Path, *lines: object) -> Path:
    """Write a file of lines."""
    path.write_bytes(b"".join(as_text(line) + b"\n" for line in lines))
    return path


def import_file(
    database: Database,
    path: Path,
    *,
    policies: Policies | None = None,
    shift_to_now: bool = False,
    batch_lines: int = BATCH_LINES,
) -> tuple[ImportSummary, list[Rejected]]:
    """Import a file and collect what was rejected."""
    rejected: list[Rejected] = []
    with path.open("rb") as source:
        summary = import_lines(
            database,
            source=source,
            name=path.name,
            actor=ACTOR,
            policies=policies or Policies(),
            reject=rejected.append,
            shift_to_now=shift_to_now,
            batch_lines=batch_lines,
        )
    return summary, rejected


def counted(database: Database) -> tuple[int, int, int]:
    """How many operations, events and idempotency records there are."""
    with reading(database) as session:
        tables = (Operation, OperationEvent, IdempotencyRecord)
        operations, events, records = (session.scalars(select(func.count(table.id))).one() for table in tables)
    return operations, events, records
