"""Holding an operation while its destination is asked, so that two who ask do not both act.

The lease is not a change of the operation: its revision stays, and what people prepared stays valid.
"""

import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import or_, update
from sqlalchemy.orm import Session

from dashboard.domain.answers import Question
from dashboard.domain.policy import Policies
from dashboard.models import Operation
from dashboard.queries.due import newer_confirmed
from dashboard.queries.history import Looks, looks_since, sent_at
from dashboard.services.asking import question_about
from dashboard.services.judging import Background

GRACE = timedelta(seconds=60)


@dataclass(frozen=True)
class Held:
    """An operation as it was when it was taken; `token` is None where it is only observed."""

    number: int
    state: str
    revision: int
    token: str | None
    destination: str
    question: Question
    background: Background
    looks: Looks
    correlation_id: str | None = None

    @property
    def named(self) -> dict[str, str | None]:
        """What logs call it by."""
        return {"operation_id": self.question.operation_id, "correlation_id": self.correlation_id}


def hold(session: Session, operation: Operation, *, policies: Policies, now: datetime, observe: bool) -> Held | None:
    """Take the operation for the length of a look; None where somebody else has it."""
    token = None if observe else secrets.token_hex(16)
    if token and not _take(session, operation, token=token, policies=policies, now=now):
        return None
    policy = policies.of(operation.type)
    sent = sent_at(session, operation.id) or operation.state_since
    looks = looks_since(session, operation.id, sent_at=sent, lag=policy.visibility_lag)
    return Held(
        number=operation.id,
        state=operation.state,
        revision=operation.revision,
        token=token,
        destination=operation.destination,
        question=question_about(operation, sent_at=sent, now=now),
        background=Background(
            honours_key=bool(policies.honours_key(operation.destination)),
            missed_at=looks.missed_at,
            newer_confirmed=newer_confirmed(session, operation),
        ),
        looks=looks,
        correlation_id=operation.correlation_id,
    )


def let_go(session: Session, held: Held) -> None:
    """Give the operation back without a change; harmless where the lease is somebody else's by now."""
    if held.token:
        session.execute(
            update(Operation)
            .where(Operation.id == held.number, Operation.lease_token == held.token)
            .values(lease_token=None, lease_until=None)
            .execution_options(synchronize_session=False)
        )


def _take(session: Session, operation: Operation, *, token: str, policies: Policies, now: datetime) -> bool:
    until = now + policies.destination(operation.destination).timeout * 3 + GRACE
    result = session.connection().execute(
        update(Operation)
        .where(
            Operation.id == operation.id,
            Operation.state == operation.state,
            Operation.revision == operation.revision,
            or_(Operation.lease_until.is_(None), Operation.lease_until <= now),
        )
        .values(lease_token=token, lease_until=until)
    )
    return result.rowcount == 1
