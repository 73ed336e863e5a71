"""What the tests of reservations share."""

from datetime import timedelta
from typing import Any

from sqlalchemy import select

from dashboard.db import Database, reading, transact
from dashboard.domain.fingerprint import field_digests, fingerprint
from dashboard.domain.reservations import Answer, Outcome, Owned
from dashboard.models import IdempotencyConflict, IdempotencyRecord
from dashboard.services import reservations
from dashboard.services.reservations import Request

SECRET = b"of a test"
PAID = Answer(201, (("Content-Type", "application/json"),), b'{"paid":true}')


def request(payload: object = None, **values: Any) -> Request:
    """A request to charge order 452, unless told otherwise."""
    payload = payload if payload is not None else {"order": "452", "amount": "318.93"}
    given = {"tenant": "shop", "operation": "charge_order", "key": "k-1", **values}
    return Request(fingerprint=fingerprint(payload), digests=field_digests(payload, secret=SECRET), **given)


def reserve(database: Database, wanted: Request | None = None) -> Outcome:
    """Reserve in a transaction of its own."""
    return transact(database, lambda session: reservations.reserve(session, wanted or request()))


def own(database: Database, wanted: Request | None = None) -> Owned:
    """Reserve a key that nobody has."""
    found = reserve(database, wanted)
    assert isinstance(found, Owned)
    return found


def complete(database: Database, owned: Owned, answer: Answer | None = PAID, **values: Any) -> None:
    """Complete in a transaction of its own."""
    transact(database, lambda session: reservations.complete(session, owned, answer, **values))


def records(database: Database) -> list[IdempotencyRecord]:
    """All records."""
    with reading(database) as session:
        return list(session.scalars(select(IdempotencyRecord).order_by(IdempotencyRecord.id)))


def record(database: Database) -> IdempotencyRecord:
    """The one record there is."""
    (found,) = records(database)
    return found


def conflicts(database: Database) -> list[IdempotencyConflict]:
    """All conflicts, in order."""
    with reading(database) as session:
        return list(session.scalars(select(IdempotencyConflict).order_by(IdempotencyConflict.id)))


def let_lease_end(database: Database) -> None:
    """Let time pass until every lease has ended."""

    def unit(session: Any) -> None:
        for row in session.scalars(select(IdempotencyRecord)):
            row.lease_until -= timedelta(hours=1)

    transact(database, unit)
