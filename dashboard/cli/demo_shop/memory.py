"""What the destinations outside the demo's shop hold of the operations that are in its database already.

The stories say what was seen there, so a look now sees the same: another amount, an older version, two, or none.
Where nobody has looked yet, most effects exist and some do not.
"""

import zlib
from collections.abc import Mapping
from random import Random
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from dashboard.cli.demo_shop.catalogue import remote_id
from dashboard.cli.demo_shop.outside import Effect, Outside
from dashboard.domain.states import EventKind, State
from dashboard.domain.verdicts import Verdict
from dashboard.models import Operation, OperationEvent

MADE = {State.CONFIRMED, State.COMPENSATED}
UNSENT = {State.PENDING, State.RETRY_SCHEDULED, State.NOT_APPLICABLE}
REFUSED = {"permanent", "rejected", "throttled", "not_sent"}
ABSENT_ONE_IN = 6


def remind(session: Session, outside: Outside) -> None:
    """Tell the destinations what they hold."""
    seen = _last_seen(session)
    for row in session.scalars(select(Operation)):
        effects = _effects(row, seen.get(row.id))
        outside.know(row.destination, row.operation_id, effects, key=row.idempotency_key)


def _last_seen(session: Session) -> Mapping[int, Mapping[str, Any]]:
    """The evidence of the last probe of each operation that was answered."""
    event = OperationEvent
    rows = session.execute(
        select(event.operation_id, event.evidence).where(event.kind == EventKind.PROBE.value).order_by(event.id)
    )
    return {row.operation_id: row.evidence for row in rows if row.evidence and "failed" not in row.evidence}


def _effects(row: Operation, seen: Mapping[str, Any] | None) -> list[Effect]:
    random = Random(zlib.crc32(row.operation_id.encode()))  # noqa: S311 - the same at each start, no secret
    found = seen or {}
    if found.get("actual"):
        return [_effect(row, random, **found["actual"])]
    if found.get("candidates"):
        return [_effect(row, random, id=each) for each in found.get("ids") or [None] * found["candidates"]]
    if row.state in MADE or (row.state not in UNSENT and _nobody_knows(row, found) and random.randrange(ABSENT_ONE_IN)):
        return [_effect(row, random)]
    return []


def _nobody_knows(row: Operation, found: Mapping[str, Any]) -> bool:
    return found.get("verdict") != Verdict.ABSENT and row.cause not in REFUSED


def _effect(row: Operation, random: Random, **seen: Any) -> Effect:
    effect = {"operation_id": row.operation_id, "type": row.type, **(row.expected or {}), "status": "done", **seen}
    return {**effect, "id": seen.get("id") or row.remote_id or remote_id(random, row.destination)}
