"""A reveal on each engine: stored once, ended in time, and an entry of the audit log."""

import threading
from datetime import datetime, timedelta

import sqlalchemy as sa

from dashboard.db import Database, reading, transact
from dashboard.domain.permissions import Role
from dashboard.models import AuditEntry, Operation, Reveal
from dashboard.queries.reveals import revealed_fields, reveals_of
from dashboard.services import reveals
from dashboard.services.policies import read_policies
from tests import factories
from tests.services.tampering import verified

POLICIES = read_policies(b'[types.charge_order]\nmask = ["expected.email"]\n', environment={})
ASKING = factories.actor(Role.OPERATOR)


def reveal(database: Database, operation_id: str, key: str = "k") -> datetime:
    return reveals.reveal(
        database,
        actor=ASKING,
        operation_id=operation_id,
        field="expected.email",
        note="The customer asks where her receipt went.",
        idempotency_key=key,
        policies=POLICIES,
    )


def test_a_form_sent_many_times_at_once_is_one_reveal(database: Database) -> None:
    name = transact(database, lambda session: factories.operation(session).operation_id)
    ends: list[datetime] = []
    threads = [threading.Thread(target=lambda: ends.append(reveal(database, name))) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(ends), len(set(ends))) == (6, 1)
    with reading(database) as session:
        assert session.scalar(sa.select(sa.func.count()).select_from(Reveal)) == 1
        assert session.scalar(sa.select(sa.func.count()).select_from(AuditEntry)) == 1
    assert verified(database).intact


def test_it_holds_for_one_person_until_its_end(database: Database) -> None:
    name = transact(database, lambda session: factories.operation(session).operation_id)
    with reading(database) as session:
        number = session.scalar(sa.select(Operation.id).where(Operation.operation_id == name)) or 0
    until = reveal(database, name)
    with reading(database) as session:
        before, after = until - timedelta(seconds=1), until
        assert revealed_fields(session, number, person=ASKING.id, now=before) == {"expected.email": until}
        assert revealed_fields(session, number, person=ASKING.id, now=after) == {}
        assert revealed_fields(session, number, person="other@shop.example", now=before) == {}
        assert [row.revealed_to for row in reveals_of(session, number)] == [ASKING.id]
