"""What hangs on the operations of a benchmark: keys, messages, findings of runs, actions of people, audit entries."""

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from dashboard.bench import shop
from dashboard.bench.lives import OPERATION, OPERATOR, REPAIRED, Life, Row, snapshot_of, stored
from dashboard.bench.shop import COMPENSATED, PENDING, PROBED, PROCESSING, REVIEW, Size

KEYS = 50_000
CONFLICTS_ONE_OF = 400
DEAD_ONE_OF, UNSENT_ONE_OF = 400, 1000
PROPOSED_ONE_OF, REFUSED_ONE_OF, VERIFY_ONE_OF = 20, 6, 8
KEPT = timedelta(days=30)
HOUR = timedelta(hours=1)

RECORD = (
    *("id", "tenant", "operation", "key", "fingerprint", "fingerprint_version", "field_digests", "state"),
    *("owner_token", "lease_until", "response_status", "response_headers", "response_body", "correlation_id"),
    *("external_reference", "operation_id", "replay_count", "conflict_count", "last_conflict_at", "created_at"),
    *("updated_at", "completed_at", "expires_at"),
)
CONFLICT = ("record_id", "at", "fingerprint", "fields", "actor_id")
MESSAGE = (
    *("message_id", "tenant", "type", "sink", "topic", "aggregate_key", "operation_id", "payload", "state", "claims"),
    *("next_attempt_at", "last_error", "created_at", "published_at"),
)
RUN = (*("id", "state", "origin", "started_by", "observe", "started_at", "finished_at"),)
FINDING = (
    *("run_id", "operation_id", "tenant", "type", "at", "state", "attempts", "verdict", "response", "target"),
    *("applied", "reason", "evidence"),
)
ACTION = (
    *("operation_id", "tenant", "type", "action", "state", "outcome", "idempotency_key", "revision", "reason_code"),
    *("note", "risk", "snapshot", "requested_by", "requested_at", "executed_at", "needed", "special", "expires_at"),
    *("verified_at", "notified_at"),
)
REASONS = {
    "correct": "agrees",
    "divergent": "differs",
    "absent": "proven_absent",
    "ambiguous": "several_candidates",
}
_COLUMN = {name: place for place, name in enumerate(OPERATION)}
_ANSWER = '[["Content-Type","application/json"]]'


def record_of(life: Life) -> Row | None:
    """The idempotency record of an operation that moves money."""
    if not life.kind.money:
        return None
    ended = life.ending in shop.ENDS
    state = "completed" if ended else "processing" if life.ending in {PENDING, PROCESSING} else "pending"
    at, last = stored(life.at), stored(life.created)
    conflicts = int(_has_conflict(life))
    answer = (201, _ANSWER, f'{{"operation":"{life.operation_id}"}}'.encode()) if ended else (None, None, None)
    return (
        *(life.number, life.tenant, life.kind.type, life.key, life.fingerprint, 1, None, state, None),
        *(stored(life.created + timedelta(minutes=1)), *answer, f"req-{life.bits >> 80:012x}", None),
        *(life.operation_id, int(ended and life.bits >> 60 & 7 == 0), conflicts, at if conflicts else None, last, at),
        *(at if ended else None, stored(life.created + KEPT)),
    )


def conflict_of(life: Life) -> Row | None:
    """Other content that came under its key."""
    if not life.kind.money or not _has_conflict(life):
        return None
    return (life.number, stored(life.at), f"{life.bits ^ 1:064x}", '["amount"]', "checkout@bench.example")


def _has_conflict(life: Life) -> bool:
    return (life.bits >> 90) % CONFLICTS_ONE_OF == 0


def message_of(life: Life, size: Size) -> Row | None:
    """The message that a charge announces; a few of the last ones are dead, and the very last wait."""
    if life.kind.type != shop.COMMON_TYPE or life.ending == PENDING:
        return None
    waits = life.number > size.operations - size.operations // UNSENT_ONE_OF
    dead = life.number > size.operations * 49 // 50 and (life.bits >> 88) % DEAD_ONE_OF == 0
    state = "pending" if waits else "dead" if dead else "published"
    at = stored(life.at)
    return (
        *(f"msg_{life.number:010}", life.tenant, life.kind.type, "bench", "order.charged"),
        *(f"order-{(life.bits >> 40) % KEYS:06}", life.number, f'{{"order":"{life.entity_id}"}}', state),
        *(0 if waits else 1, at, "HTTP 410" if dead else None, at, at if state == "published" else None),
    )


def run_number(at: datetime, size_now: datetime) -> int:
    """Which of the hourly runs was the first after this moment; the oldest is 1."""
    hours = int((size_now - at) / HOUR)
    return max(shop.DAYS * 24 - hours, 1)


def finding_of(life: Life, *, now: datetime) -> Row | None:
    """What the look of the run of that hour found."""
    if life.ending not in {PROBED, shop.CLOSED, COMPENSATED, REVIEW}:
        return None
    verdict, at = life.row[_COLUMN["verdict"]], life.row[_COLUMN["verdict_at"]]
    response, target = ("confirm", "confirmed") if verdict == "correct" else ("review", "manual_review")
    return (
        *(run_number(min(life.at, now), now), life.number, life.tenant, life.kind.type, at, "awaiting_confirmation", 1),
        *(verdict, response, target, True, REASONS[verdict], None),
    )


def runs_of(*, now: datetime) -> Iterator[Row]:
    """One run an hour, before anything is found."""
    last = shop.DAYS * 24
    for number in range(1, last + 1):
        began = now - HOUR * (last - number)
        yield (number, "finished", "schedule", "reconciler-1", False, stored(began),
               stored(began + timedelta(seconds=20)))  # fmt: skip


def action_of(life: Life) -> Row | None:
    """What a person asked for: the repair that ended it, or for a few of those in review a proposal."""
    proposed = life.ending == REVIEW and (life.bits >> 91) % PROPOSED_ONE_OF == 0
    if life.ending not in {shop.CLOSED, COMPENSATED} and not proposed:
        return None
    name, reason = ("compensate", "charged_twice") if life.ending == COMPENSATED else ("close", "written_off")
    asked = life.at
    told = stored(asked)
    return (
        *(life.number, life.tenant, life.kind.type, name, "proposed" if proposed else "executed"),
        *(None if proposed else "to_verify" if _unverified(life) else "verified", f"bench-{life.number}"),
        *(len(life.events), reason, REPAIRED, "high" if life.kind.money else "low", _json(snapshot_of(life))),
        *(OPERATOR[1], told, None if proposed else told, int(proposed), ""),
        *(stored(asked + timedelta(days=7)) if proposed else None, None if proposed or _unverified(life) else told),
        told if proposed else None,
    )


def _unverified(life: Life) -> bool:
    return life.ending == COMPENSATED and (life.bits >> 92) % VERIFY_ONE_OF == 0


def entries_of(life: Life, action: Row | None) -> Sequence[Mapping[str, Any]]:
    """What the audit log tells of it: what was asked for, and now and then that somebody was refused before."""
    if action is None:
        return ()
    name, state = action[3], action[4]
    told = {
        "at": stored(life.at),
        "actor_kind": OPERATOR[0],
        "actor_id": OPERATOR[1],
        "address": "127.0.0.1",
        "action": "propose" if state == "proposed" else name,
        "subject": life.operation_id,
        "tenant": life.tenant,
        "type": life.kind.type,
        "outcome": "done",
        "before": f'{{"state":"{REVIEW}"}}',
        "after": _json({"state": life.row[_COLUMN["state"]]}),
        "reason": REPAIRED,
        "evidence": _json({"reason_code": action[8], "risk": action[10]}),
        "request_id": f"{life.bits >> 96:08x}",
    }
    if (life.bits >> 93) % REFUSED_ONE_OF:
        return (told,)
    refused = {**told, "actor_id": "support@bench.example", "outcome": "refused", "after": None, "evidence": None}
    return (refused, told)


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
