"""What retention takes, what it leaves, and that it takes it once."""

from datetime import timedelta
from types import MappingProxyType
from typing import Any

from sqlalchemy import event, select
from sqlalchemy.orm import Session

from dashboard.db import Database, clock, reading, transact
from dashboard.domain.permissions import Actor
from dashboard.domain.policy import Policies, TypePolicy
from dashboard.domain.states import ActorKind
from dashboard.models import (
    AuditEntry,
    EvidenceItem,
    IdempotencyRecord,
    Operation,
    OperationEvent,
    OperationPayload,
    ReconciliationFinding,
    ReconciliationRun,
)
from dashboard.services import audit, retention
from dashboard.services.retention import Purged
from tests import factories

DAY = timedelta(days=1)
SEEN = {"verdict": "correct", "found": 1, "raw_hash": "ab", "actual": {"name": "Ana"}}
LEFT = {"verdict": "correct", "found": 1, "raw_hash": "ab", "purged": True}
POLICIES = Policies(types=MappingProxyType({"charge_order": TypePolicy(name="charge_order", retention=30 * DAY)}))
JANITOR = Actor(ActorKind.SYSTEM, "janitor")


def purge(database: Database, **settings: Any) -> Purged:
    return retention.purge(database, policies=POLICIES, actor=JANITOR, **settings)


def add_record(session: Session, key: str, *, age: timedelta = 40 * DAY, **values: Any) -> IdempotencyRecord:
    """A settled record without an expiry of its own, unless told otherwise."""
    at = clock(session) - age
    row = IdempotencyRecord(
        **{
            "tenant": "tienda-es",
            "operation": "charge_order",
            "key": key,
            "fingerprint": "f" * 64,
            "field_digests": {"amount": "aa"},
            "state": "completed",
            "lease_until": at,
            "response_status": 201,
            "response_headers": [["Content-Type", "text/plain"]],
            "response_body": b"Ana",
            "resource_ids": ["pay_1"],
            "created_at": at,
            "updated_at": at,
            "completed_at": at,
            **values,
        }
    )
    session.add(row)
    session.flush()
    return row


def add_operation(session: Session, *, age: timedelta = 40 * DAY, **values: Any) -> Operation:
    """An ended operation with a body, a probe, a finding and a received line."""
    at = clock(session) - age
    row = factories.operation(session, **{"state": "confirmed", "created_at": at, **values})
    factories.event(session, row, evidence=SEEN)
    factories.event(session, row, seq=2, kind="transition", actor_kind="user", evidence={"note": "seen"})
    session.add(OperationPayload(operation_id=row.id, kind="request", body=b"Ana", created_at=at))
    run = ReconciliationRun(state="finished", origin="test", started_by="me", observe=False, started_at=at)
    session.add(run)
    session.flush()
    told = {"state": "awaiting_confirmation", "attempts": 1, "response": "confirm", "reason": "correct"}
    scope = {"tenant": row.tenant, "type": row.type, "applied": True}
    finding = {"run_id": run.id, "operation_id": row.id, "at": at, "verdict": "correct", "evidence": SEEN}
    session.add(ReconciliationFinding(**finding, **told, **scope))
    session.add(
        EvidenceItem(
            destination="payments",
            event_id=f"evt-{row.id}",
            source="file",
            operation_id=row.id,
            match="matched",
            received_at=at,
            origin="day.csv",
            content={"name": "Ana"},
            raw_hash="ab",
        )
    )
    session.flush()
    return row


def purged_keys(database: Database) -> set[str]:
    with reading(database) as session:
        return set(session.scalars(select(IdempotencyRecord.key).where(IdempotencyRecord.purged_at.is_not(None))))


def test_a_tombstone_keeps_what_makes_a_late_repeat_known(database: Database) -> None:
    transact(database, lambda session: add_record(session, "old").id)
    assert purge(database) == Purged(records=1)
    with reading(database) as session:
        row = session.scalars(select(IdempotencyRecord)).one()
        assert (row.response_body, row.response_headers, row.field_digests) == (None, None, None)
        assert (row.state, row.fingerprint, row.response_status, row.resource_ids) == (
            "completed",
            "f" * 64,
            201,
            ["pay_1"],
        )
        assert row.purged_at is not None
        assert row.completed_at is not None


def test_an_expiry_of_its_own_comes_before_the_policy(database: Database) -> None:
    def unit(session: Session) -> None:
        now = clock(session)
        add_record(session, "expired", age=2 * DAY, expires_at=now - DAY)
        add_record(session, "not yet", age=500 * DAY, expires_at=now + DAY)
        add_record(session, "young", age=20 * DAY)
        add_record(session, "by the default of 400 days", operation="refund_order", age=399 * DAY)
        add_record(session, "past the default", operation="refund_order", age=401 * DAY, state="failed")

    transact(database, unit)
    purge(database)
    assert purged_keys(database) == {"expired", "past the default"}


def test_an_ended_operation_loses_bodies_and_what_machines_saw(database: Database) -> None:
    transact(database, lambda session: add_operation(session).id)
    assert purge(database) == Purged(operations=1, payloads=1, evidence=2, received=1)
    with reading(database) as session:
        assert session.scalars(select(OperationPayload)).all() == []
        probe, decision = session.scalars(select(OperationEvent.evidence).order_by(OperationEvent.seq))
        finding = session.scalars(select(ReconciliationFinding.evidence)).one() or {}
        assert probe == finding
        assert finding.items() >= LEFT.items()
        assert "actual" not in finding
        assert decision == {"note": "seen"}
        assert session.scalars(select(EvidenceItem.content)).one() == {"purged": True}
        row = session.scalars(select(Operation)).one()
        assert (row.state, row.revision, row.expected is not None) == ("confirmed", 1, True)


def test_what_was_reopened_and_ended_again_is_purged_again(database: Database) -> None:
    transact(database, lambda session: add_operation(session).id)
    purge(database)

    def reopen(session: Session) -> None:
        row = session.scalars(select(Operation)).one()
        factories.event(session, row, seq=3, evidence=SEEN)
        row.state_since = clock(session) - 31 * DAY
        row.purged_at = row.state_since - DAY

    transact(database, reopen)
    assert purge(database) == Purged(operations=1, evidence=1)
    assert not purge(database)


def test_a_dry_run_counts_exactly_what_goes_and_changes_nothing(database: Database) -> None:
    def unit(session: Session) -> None:
        for number in range(3):
            add_operation(session)
            add_record(session, f"key-{number}")
            add_record(session, f"young-{number}", age=DAY)

    transact(database, unit)
    told = retention.would_purge(database, policies=POLICIES)
    assert told == Purged(records=3, operations=3, payloads=3, evidence=6, received=3)
    assert retention.would_purge(database, policies=POLICIES) == told
    assert purge(database) == told
    assert not purge(database)


def test_a_run_leaves_one_audit_entry_with_its_counts_and_an_idle_one_none(database: Database) -> None:
    transact(database, lambda session: add_record(session, "old").id)
    purge(database)
    purge(database)
    with reading(database) as session:
        entry = session.scalars(select(AuditEntry)).one()
        assert (entry.action, entry.actor_id) == ("retention", "janitor")
        assert '"records":1' in str(entry.after)
        assert audit.verify(session).intact


def test_it_can_stop_after_any_batch_and_goes_on_where_it_was(database: Database) -> None:
    transact(database, lambda session: [add_record(session, f"key-{n}").id for n in range(5)])
    assert purge(database, at_once=2, stop=lambda: True) == Purged(records=2)
    assert purge(database, at_once=2, batches=1) == Purged(records=2)
    assert purge(database) == Purged(records=1)


def test_the_statements_do_not_grow_with_what_was_purged_before(sqlite_database: Database) -> None:
    counted: list[str] = []
    event.listen(sqlite_database.engine, "before_cursor_execute", lambda *told: counted.append(told[2]))
    costs: list[int] = []
    for _round in range(2):
        transact(sqlite_database, lambda session: [add_record(session, f"{len(costs)}-{n}").id for n in range(50)])
        counted.clear()
        purge(sqlite_database)
        costs.append(len(counted))
    assert costs[0] == costs[1]
