"""A shop whose operations await confirmation from a destination over HTTP, and time that passes when told."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import Any

import pytest
from sqlalchemy import select
from sqlalchemy.orm import Session

from dashboard.db import Database, clock, reading, transact
from dashboard.domain.permissions import Actor
from dashboard.domain.policy import (
    DEFAULT_RESPONSES,
    Comparison,
    FieldKind,
    Policies,
    ProbeRule,
    Response,
    Retry,
    TypePolicy,
    Window,
)
from dashboard.domain.policy import Destination as Outside
from dashboard.domain.states import ActorKind
from dashboard.domain.verdicts import Verdict
from dashboard.models import IdempotencyRecord, Operation, OperationEvent, ReconciliationFinding, ReconciliationRun
from dashboard.services import audit, reconciliation
from tests import factories
from tests.destination import Destination, running

RECONCILER = Actor(ActorKind.RECONCILER, "reconciler-1")
LAG = timedelta(minutes=10)
PATH = "/payments?operation_id={operation_id}"
ASKING = ProbeRule("http", MappingProxyType({"path": PATH, "items": "data", "remote_id": "id", "as_of": "as_of"}))
CHARGE = TypePolicy(
    name="charge_order",
    destination="payments",
    financial=True,
    window=Window(timedelta(minutes=5), timedelta(hours=6)),
    visibility_lag=LAG,
    retry=Retry(max_attempts=3),
    on=MappingProxyType({**DEFAULT_RESPONSES, Verdict.ABSENT: Response.RETRY}),
    probe=ASKING,
    compare=(
        Comparison("amount", "amount", "amount", FieldKind.DECIMAL),
        Comparison("currency", "currency", "currency"),
    ),
    compensation="refund_order",
)


@dataclass
class Payments:
    """A database, the destination its operations went to, and the policies in force."""

    database: Database
    destination: Destination
    policies: Policies

    def under(self, **changes: Any) -> None:
        """Change the policy of the type."""
        types = {"charge_order": replace(self.policies.of("charge_order"), **changes)}
        self.policies = replace(self.policies, types=MappingProxyType(types))

    def behaving(self, **changes: Any) -> None:
        """Change what policy says of the destination."""
        outside = replace(self.policies.destination("payments"), **changes)
        self.policies = replace(self.policies, destinations=MappingProxyType({"payments": outside}))

    def asks(self, **settings: Any) -> None:
        """Change the settings of the probe."""
        self.under(probe=ProbeRule("http", MappingProxyType({**ASKING.settings, **settings})))

    def sent(self, operation_id: str = "op-1", *, ago: timedelta = timedelta(hours=1), **values: Any) -> None:
        """An operation whose request went out some time ago and was never answered."""

        def unit(session: Session) -> None:
            at = clock(session) - ago
            given = {"state": "awaiting_confirmation", "deadline_at": at + timedelta(hours=24), **values}
            row = factories.operation(session, operation_id=operation_id, created_at=at, **given)
            kinds = {"kind": "transition", "from_state": "processing", "to_state": "awaiting_confirmation"}
            factories.event(session, row, at=at, evidence=None, **kinds)

        transact(self.database, unit)

    def shows(self, operation_id: str = "op-1", **fields: Any) -> None:
        """The destination has this effect."""
        self.destination.add(operation_id, **{"amount": "318.93", "currency": "EUR", **fields})

    def reconcile(self, **wishes: Any) -> int | None:
        """One pass."""
        given: dict[str, Any] = {"policies": self.policies, "actor": RECONCILER, "origin": "worker", **wishes}
        return reconciliation.run(self.database, **given)

    def look(self, actor: Actor, operation_id: str = "op-1") -> ReconciliationFinding:
        """What a person gets who checks now."""
        return reconciliation.look(self.database, policies=self.policies, actor=actor, operation_id=operation_id)

    def wait(self, passing: timedelta) -> None:
        """Let time pass: everything that was lies further back."""

        def unit(session: Session) -> None:
            _move(session, Operation, passing, "created_at", "state_since", "next_attempt_at", "deadline_at")
            _move(session, OperationEvent, passing, "at")
            _move(session, ReconciliationFinding, passing, "at")

        transact(self.database, unit)

    def row(self, operation_id: str = "op-1") -> Operation:
        with reading(self.database) as session:
            return session.scalars(select(Operation).where(Operation.operation_id == operation_id)).one()

    def events(self, kind: str = "probe") -> Sequence[OperationEvent]:
        with reading(self.database) as session:
            chosen = select(OperationEvent).where(OperationEvent.kind == kind)
            return session.scalars(chosen.order_by(OperationEvent.id)).all()

    def findings(self) -> Sequence[ReconciliationFinding]:
        with reading(self.database) as session:
            return session.scalars(select(ReconciliationFinding).order_by(ReconciliationFinding.id)).all()

    def found(self) -> list[tuple[str, str, str, bool]]:
        """Verdict, reason and step of each finding, and whether it was done."""
        return [(one.verdict, one.reason, one.response, one.applied) for one in self.findings()]

    def runs(self) -> Sequence[ReconciliationRun]:
        with reading(self.database) as session:
            return session.scalars(select(ReconciliationRun).order_by(ReconciliationRun.id)).all()

    def record(self) -> IdempotencyRecord:
        with reading(self.database) as session:
            return session.scalars(select(IdempotencyRecord)).one()

    def facts(self, operation_id: str = "op-1") -> tuple[int, str, str | None]:
        """Effects counted, state of the ledger and its verdict; the audit log must verify."""
        with reading(self.database) as session:
            assert audit.verify(session).intact
        row = self.row(operation_id)
        return self.destination.count(operation_id), row.state, row.verdict

    def now(self) -> datetime:
        with reading(self.database) as session:
            return clock(session)


def _move(session: Session, model: Any, passing: timedelta, *columns: str) -> None:
    for row in session.scalars(select(model)).all():
        for column in columns:
            if at := getattr(row, column):
                setattr(row, column, at - passing)
        evidence = getattr(row, "evidence", None)
        if evidence and evidence.get("as_of"):
            as_of = datetime.fromisoformat(evidence["as_of"]) - passing
            row.evidence = {**evidence, "as_of": as_of.isoformat()}


def _payments(database: Database, destination: Destination) -> Payments:
    outside = Outside("payments", destination.url, allow_private=True, timeout=timedelta(seconds=5))
    policies = Policies(
        hash="f" * 64,
        types=MappingProxyType({"charge_order": CHARGE}),
        destinations=MappingProxyType({"payments": outside}),
    )
    return Payments(database, destination, policies)


@pytest.fixture
def destination() -> Iterator[Destination]:
    """An outside system on loopback."""
    with running() as destination:
        yield destination


@pytest.fixture
def payments(database: Database, destination: Destination) -> Payments:
    """Operations and their destination, on each engine in turn."""
    return _payments(database, destination)


@pytest.fixture
def local_payments(sqlite_database: Database, destination: Destination) -> Payments:
    """Operations and their destination on SQLite, where the engine makes no difference."""
    return _payments(sqlite_database, destination)
