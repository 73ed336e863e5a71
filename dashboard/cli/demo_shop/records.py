"""The idempotency record beside an operation of the demo shop that moves money."""

from datetime import timedelta
from typing import Any

from dashboard.cli.demo_shop.history import History
from dashboard.domain.fingerprint import FINGERPRINT_VERSION, field_digests
from dashboard.domain.states import State

KEPT = timedelta(days=30)
DIGEST_KEY = b"demo"
SETTLED = {State.CONFIRMED, State.COMPENSATED, State.NOT_APPLICABLE}
UNTOUCHED = {State.PENDING, State.PROCESSING}


def record_of(history: History, *, conflicted: bool) -> dict[str, Any]:
    """The record as it stands in an import file; `conflicted` if the key came again with another payload."""
    operation = history.operation
    settled = history.state in SETTLED
    created_at = operation["created_at"]
    record = {
        "kind": "idempotency",
        "tenant": operation["tenant"],
        "operation": operation["type"],
        "key": operation["idempotency_key"],
        "fingerprint": operation["fingerprint"],
        "fingerprint_version": FINGERPRINT_VERSION,
        "field_digests": field_digests(operation["expected"], secret=DIGEST_KEY),
        "state": "completed" if settled else "processing" if history.state in UNTOUCHED else "pending",
        "operation_id": operation["operation_id"],
        "correlation_id": operation["correlation_id"],
        "replay_count": history.random.choice((0, 0, 0, 1, 3)) if settled else 0,
        "conflict_count": int(conflicted),
        "created_at": created_at,
        "updated_at": operation["state_since"],
        "lease_until": created_at + timedelta(minutes=1),
        "expires_at": created_at + KEPT,
    }
    if conflicted:
        record["last_conflict_at"] = operation["updated_at"]
    return record | (_answer(history) if settled else {})


def _answer(history: History) -> dict[str, Any]:
    operation = history.operation
    status = "succeeded" if history.state is State.CONFIRMED else operation["state"]
    return {
        "response_status": 201,
        "response_headers": [["Content-Type", "application/json"], ["Location", f"/orders/{operation['entity_id']}"]],
        "response_body": f'{{"operation":"{operation["operation_id"]}","status":"{status}"}}',
        "external_reference": operation.get("remote_id"),
        "completed_at": operation["state_since"],
    }
