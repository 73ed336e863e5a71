"""What a claimed row means to whoever works on it, here or elsewhere."""

from collections.abc import Callable
from decimal import Decimal

from dashboard.domain.work import Parent, Work
from dashboard.models import Operation
from dashboard.services import budgets


def work_of(
    row: Operation,
    *,
    token: str,
    attempts: int,
    parent: Parent | None,
    standing: budgets.Standing,
    heartbeat: Callable[[Work], None],
) -> Work:
    """What a row holds for whoever works on it under this token."""
    work: Work = Work(
        operation_id=row.operation_id,
        tenant=row.tenant,
        type=row.type,
        entity_type=row.entity_type,
        entity_id=row.entity_id,
        expected_version=row.expected_version,
        expected=row.expected or {},
        destination=row.destination,
        idempotency_key=row.idempotency_key or row.operation_id,
        amount=Decimal(row.amount) if row.amount is not None else None,
        currency=row.currency,
        correlation_id=row.correlation_id,
        attempts=attempts,
        compensates=parent,
        number=row.id,
        token=token,
        destination_failing=standing.failures.get(row.destination, 0) > 0,
        heartbeat=lambda: heartbeat(work),
    )
    return work
