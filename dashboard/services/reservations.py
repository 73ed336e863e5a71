"""Reserving an idempotency key, and recording what came of the work behind it (design section 6).

1. `reserve` inserts the record. Whoever inserted it owns the key: `Owned`, with a token and a lease.
2. Everybody else learns what the key stands for: `Replay`, `Conflict` or `Unfinished`; the content is compared first.
3. The owner does the work and says what came of it: `complete`, `fail`, `release` or `leave_pending`, each once.

All of it runs in the caller's transaction and is never committed here. A reservation that is to be seen by others while
the work is done is committed before the work; work that is wholly in this database may share its transaction.
"""

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from sqlalchemy import Row
from sqlalchemy.orm import Session

from dashboard.domain.errors import LostRaceError, NotFoundError
from dashboard.domain.fingerprint import FINGERPRINT_VERSION, differing_fields
from dashboard.domain.keys import KeyState, Resend
from dashboard.domain.reservations import LEASE, RETENTION, Answer, Conflict, Outcome, Owned, Replay, Unfinished
from dashboard.services import reservation_statements as statements
from dashboard.services.insert_once import is_new
from dashboard.services.prepared import execute
from dashboard.services.reservation_rows import SETTLED, again_of, replay_of, unfinished_of

MICROSECOND = timedelta(microseconds=1)
# A key that stands for something else is tried again and again by a broken client; the count goes on.
CONFLICTS_KEPT = 100
# A record may go between our INSERT and our look at it, when its owner releases the key.
ATTEMPTS = 10


@dataclass(frozen=True)
class Request:
    """What asks for a key: its scope, the fingerprint of its content, and a digest for each field to name differences.

    `local_only`: the work has no effect outside the transaction that completes the record, so an owner that went
    silent may be replaced. `token` is made by the caller, so that after a cut connection it knows its own record.
    """

    tenant: str
    operation: str
    key: str
    fingerprint: str
    digests: Mapping[str, str] | None = None
    lease: timedelta = LEASE
    local_only: bool = False
    correlation_id: str | None = None
    operation_id: str | None = None
    actor_id: str | None = None
    token: str = ""


def reserve(session: Session, request: Request) -> Outcome:
    """Take the key, or learn what it stands for; conflicts and replays are counted on the record.

    A conflict is lost with the transaction: commit it, whatever else you do.
    """
    token = request.token or secrets.token_hex(16)
    for _attempt in range(ATTEMPTS):
        if insert_new(session, request, token=token):
            return Owned(request.tenant, request.operation, request.key, token)
        found = meet(session, request, token=token)
        if found is not None:
            return found
    raise LostRaceError(key=request.key)


def insert_new(session: Session, request: Request, *, token: str) -> bool:
    """Insert the record, or tell that the key is known."""
    connection = session.connection()
    values = _values(request, token=token)
    dialect = connection.dialect.name
    return is_new(execute(connection, statements.INSERTS[dialect], values), dialect=dialect)


def meet(session: Session, request: Request, *, token: str) -> Outcome | None:
    """Say what the known key stands for, content first; None where the record is gone again."""
    row = session.connection().execute(statements.EXISTING, _scope(request)).one_or_none()
    if row is None:
        return None
    if row.owner_token == token and row.state == KeyState.PROCESSING:
        # The connection was cut while our own INSERT was committed.
        return Owned(request.tenant, request.operation, request.key, token)
    if (row.fingerprint_version, row.fingerprint) != (FINGERPRINT_VERSION, request.fingerprint):
        return _conflict(session, row, request)
    again = again_of(row)
    if again in SETTLED:
        session.connection().execute(statements.REPLAYED, {"number": row.id})
        return replay_of(row, again)
    if request.local_only and again is not Resend.IN_WORK:
        return _retake(session, row, request, token=token)
    return _unfinished(session, row, again)


def read(session: Session, *, tenant: str, operation: str, key: str) -> Replay | Unfinished:
    """What the key stands for, without counting anything; NotFoundError where it is not known."""
    scope = {"tenant": tenant, "operation": operation, "key": key}
    row = session.connection().execute(statements.READ, scope).one_or_none()
    if row is None:
        raise NotFoundError(key=key)
    again = again_of(row)
    if again in SETTLED:
        return replay_of(row, again)
    return unfinished_of(row, again)


def check_owned(session: Session, owned: Owned) -> None:
    """Raise LostRaceError unless the key is ours and its lease has not ended."""
    scope = {"tenant": owned.tenant, "operation": owned.operation, "key": owned.key}
    row = session.connection().execute(statements.READ, scope).one_or_none()
    if row is None or row.owner_token != owned.token or again_of(row) is not Resend.IN_WORK:
        raise LostRaceError(key=owned.key)


def complete(
    session: Session,
    owned: Owned,
    answer: Answer | None,
    *,
    retention: timedelta = RETENTION,
    resource_ids: Sequence[str] = (),
    external_reference: str | None = None,
    operation_id: str | None = None,
) -> None:
    """The work was done: keep its answer, from now for `retention`; None where it cannot be kept.

    Raises LostRaceError, as all that follow, where the key is no longer ours; nothing was changed then.
    """
    _settle(
        session,
        owned,
        KeyState.COMPLETED,
        answer=answer,
        retention=retention,
        resource_ids=resource_ids,
        external_reference=external_reference,
        operation_id=operation_id,
    )


def fail(
    session: Session,
    owned: Owned,
    answer: Answer | None,
    *,
    retention: timedelta = RETENTION,
    external_reference: str | None = None,
    operation_id: str | None = None,
) -> None:
    """The work ended without an effect and that is certain: keep its answer, such as a card that was declined."""
    _settle(
        session,
        owned,
        KeyState.FAILED,
        answer=answer,
        retention=retention,
        external_reference=external_reference,
        operation_id=operation_id,
    )


def release(session: Session, owned: Owned) -> None:
    """Nothing was begun: the record goes, and the key may be used again as if it had never come."""
    _ours(session, owned, statements.RELEASE)


def leave_pending(
    session: Session, owned: Owned, *, external_reference: str | None = None, operation_id: str | None = None
) -> None:
    """The effect may have happened: nobody runs this work again until it is known, and the reconciler settles it."""
    _ours(session, owned, statements.LEAVE, reference=external_reference, bound_to=operation_id)


def extend(session: Session, owned: Owned, *, lease: timedelta = LEASE) -> None:
    """Hold the key for longer, from now."""
    _ours(session, owned, statements.EXTEND, lease=lease // MICROSECOND)


def bind(session: Session, owned: Owned, *, operation_id: str) -> None:
    """Name the operation that the key stands for: the two are settled together."""
    _ours(session, owned, statements.BIND, bound_to=operation_id)


def lapse(session: Session, *, limit: int = 100) -> int:
    """Make records whose owner went silent pending, so that they are seen and reconciled; returns how many."""
    connection = session.connection()
    numbers = connection.execute(statements.ENDED.limit(limit)).scalars().all()
    return sum(connection.execute(statements.LAPSE, {"number": number}).rowcount for number in numbers)


def _values(request: Request, *, token: str) -> dict[str, Any]:
    return {
        **_scope(request),
        "fingerprint": request.fingerprint,
        "fingerprint_version": FINGERPRINT_VERSION,
        "field_digests": dict(request.digests) if request.digests is not None else None,
        "token": token,
        "lease": request.lease // MICROSECOND,
        "correlation_id": request.correlation_id,
        "operation_id": request.operation_id,
    }


def _scope(request: Request) -> dict[str, Any]:
    return {"tenant": request.tenant, "operation": request.operation, "key": request.key}


def _settle(
    session: Session,
    owned: Owned,
    state: KeyState,
    *,
    answer: Answer | None,
    retention: timedelta,
    resource_ids: Sequence[str] = (),
    external_reference: str | None,
    operation_id: str | None,
) -> None:
    _ours(
        session,
        owned,
        statements.SETTLE,
        new_state=state.value,
        status=answer.status if answer else None,
        headers=[list(header) for header in answer.headers] if answer else None,
        body=answer.body if answer else None,
        resources=list(resource_ids) or None,
        reference=external_reference,
        bound_to=operation_id,
        retention=retention // MICROSECOND,
    )


def _ours(session: Session, owned: Owned, statement: Any, **values: object) -> None:
    mine = {"of_tenant": owned.tenant, "of_operation": owned.operation, "of_key": owned.key, "token": owned.token}
    result = execute(session.connection(), statement, {**mine, **values})
    if result.rowcount != 1:
        raise LostRaceError(key=owned.key)


def _conflict(session: Session, row: Row[Any], request: Request) -> Conflict:
    told = row.field_digests is not None and request.digests is not None
    fields = differing_fields(row.field_digests, request.digests or {}) if told else None
    connection = session.connection()
    connection.execute(statements.CONFLICTED, {"number": row.id, "met_at": row.read_at})
    if row.conflict_count < CONFLICTS_KEPT:
        noted = {
            "number": row.id,
            "met_at": row.read_at,
            "fingerprint": request.fingerprint,
            "fields": list(fields) if fields is not None else None,
            "actor": request.actor_id,
            "correlation_id": request.correlation_id,
        }
        connection.execute(statements.NOTE_CONFLICT, noted)
    return Conflict(row.id, fields)


def _retake(session: Session, row: Row[Any], request: Request, *, token: str) -> Owned:
    """Take over local work whose owner went silent: its late write changes no row, and its transaction goes."""
    values = {"number": row.id, "token": token, "lease": request.lease // MICROSECOND}
    if session.connection().execute(statements.RETAKE, values).rowcount != 1:
        raise LostRaceError(key=request.key)
    return Owned(request.tenant, request.operation, request.key, token, retaken=True)


def _unfinished(session: Session, row: Row[Any], again: Resend) -> Unfinished:
    if again is Resend.LEASE_LOST:
        session.connection().execute(statements.LAPSE, {"number": row.id})
    return unfinished_of(row, again)
