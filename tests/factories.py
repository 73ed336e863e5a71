"""Rows for tests: each factory fills what the test does not care about."""

import json
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

from sqlalchemy.orm import Session

from dashboard.domain.permissions import Actor, Grant, Role
from dashboard.domain.states import ActorKind
from dashboard.models import Operation, OperationEvent, OutboxMessage

NOW = datetime(2026, 11, 30, 12, 0, 0, 123457, tzinfo=UTC)
NOTE = "The provider's console shows no payment for this order."
_numbers = count(1)


def actor(*roles: Role, tenant: str | None = None, only: str | None = None, name: str | None = None) -> Actor:
    """A person with these roles, for one tenant and only one type, or for all."""
    grants = tuple(Grant(role, tenant, only) for role in roles)
    return Actor(ActorKind.USER, name or f"{roles[0]}@example.com", grants, "127.0.0.1", "request-1")


def proven_absent() -> dict[str, Any]:
    """Columns that say: the destination was asked a moment ago, and had nothing."""
    return {"verdict": "absent", "verdict_at": datetime.now(UTC) - timedelta(seconds=5)}


def seen_twice() -> dict[str, Any]:
    """Columns that say: the destination was asked a moment ago, and had several candidates."""
    return {**proven_absent(), "verdict": "ambiguous"}


def operation(session: Session, **values: Any) -> Operation:
    """An operation in review, unless told otherwise."""
    created = values.pop("created_at", NOW - timedelta(hours=3))
    row = Operation(
        **{
            "operation_id": f"op-{next(_numbers)}",
            "tenant": "tienda-es",
            "type": "charge_order",
            "entity_type": "order",
            "entity_id": "452",
            "expected": {"order": "452", "amount": "318.93", "currency": "EUR"},
            "destination": "payments",
            "state": "manual_review",
            "attempts": 1,
            "cause": "sent_unknown",
            "amount": "318.93",
            "currency": "EUR",
            "created_at": created,
            "state_since": created,
            "updated_at": created,
            "deadline_at": created + timedelta(hours=2),
            **values,
        }
    )
    session.add(row)
    session.flush()
    return row


def event(session: Session, operation: Operation, **values: Any) -> OperationEvent:
    """An event of the operation: a probe that found nothing, unless told otherwise."""
    row = OperationEvent(
        **{
            "operation_id": operation.id,
            "seq": 1,
            "at": operation.created_at,
            "kind": "probe",
            "actor_kind": "reconciler",
            "actor_id": "reconciler-1",
            "evidence": {"verdict": "absent", "actual": None},
            **values,
        }
    )
    session.add(row)
    session.flush()
    return row


def message(session: Session, **values: Any) -> OutboxMessage:
    """A message that waits to be published, unless told otherwise; `n` is what its payload holds."""
    number = next(_numbers)
    row = OutboxMessage(
        **{
            "message_id": f"msg_{number}",
            "tenant": "tienda-es",
            "type": "charge_order",
            "sink": "hook",
            "topic": "order.charged",
            "aggregate_key": f"order-{number:05}",
            "payload": json.dumps({"n": values.pop("n", number)}),
            "state": "pending",
            "next_attempt_at": NOW - timedelta(days=365),
            "created_at": NOW - timedelta(days=365),
            **values,
        }
    )
    session.add(row)
    session.flush()
    return row
