"""What the record of a known key says to whoever comes with it again."""

from datetime import timedelta
from typing import Any

from sqlalchemy import Row

from dashboard.domain.keys import KeyState, Resend, resend
from dashboard.domain.reservations import Answer, Replay, Unfinished

SETTLED = frozenset({Resend.REPLAY, Resend.WITHOUT_ANSWER, Resend.EXPIRED})
SHORTEST_WAIT = timedelta(seconds=1)
WAIT_FOR_PENDING = timedelta(seconds=30)


def again_of(row: Row[Any]) -> Resend:
    """What the same content gets, by the database's time at which the record was read."""
    return resend(
        row.state, status=row.response_status, lease_until=row.lease_until, expires_at=row.expires_at, now=row.read_at
    )


def replay_of(row: Row[Any], again: Resend) -> Replay:
    """The outcome, with its answer where one is kept and has not expired."""
    kept = again is Resend.REPLAY and row.response_body is not None
    headers = tuple((str(name), str(value)) for name, value in row.response_headers or ())
    return Replay(
        record_id=row.id,
        state=KeyState(row.state),
        answer=Answer(row.response_status, headers, bytes(row.response_body)) if kept else None,
        expired=again is Resend.EXPIRED,
        completed_at=row.completed_at,
        expires_at=row.expires_at,
        expires_in=row.expires_at - row.read_at if row.expires_at else None,
        resource_ids=tuple(map(str, row.resource_ids or ())),
        external_reference=row.external_reference,
        operation_id=row.operation_id,
    )


def unfinished_of(row: Row[Any], again: Resend) -> Unfinished:
    """That there is no outcome yet, and when to ask again."""
    state = KeyState.PROCESSING if again is Resend.IN_WORK else KeyState.PENDING
    return Unfinished(row.id, state, _retry_after(row, again))


def _retry_after(row: Row[Any], again: Resend) -> timedelta:
    """When it is worth asking again: soon while somebody works, later once it has to be reconciled."""
    if again is not Resend.IN_WORK:
        return WAIT_FOR_PENDING
    left: timedelta = row.lease_until - row.read_at
    return min(max(left / 4, SHORTEST_WAIT), WAIT_FOR_PENDING)
