"""What the tests of faults share: a host, its destination, and time that passes when a test says so."""

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest
from sqlalchemy import select, update

from dashboard import ledger
from dashboard.db import Database, clock, reading, transact
from dashboard.domain.permissions import Actor
from dashboard.domain.policy import (
    DEFAULT_RESPONSES,
    Destination,
    Policies,
    ProbeRule,
    Response,
    Retry,
    TypePolicy,
    Window,
)
from dashboard.domain.states import ActorKind
from dashboard.domain.verdicts import Verdict
from dashboard.ledger import NewOperation
from dashboard.models import DestinationBudget, Operation, OperationEvent
from dashboard.services import audit, reconciliation, work
from tests.faults import host

ROOT = Path(__file__).resolve().parents[2]
NO_TIME = timedelta(0)
CHARGE = TypePolicy(
    name="charge_order",
    destination="payments",
    window=Window(NO_TIME, timedelta(hours=1)),
    visibility_lag=NO_TIME,
    retry=Retry(max_attempts=3, first=timedelta(seconds=10)),
    on=MappingProxyType({**DEFAULT_RESPONSES, Verdict.ABSENT: Response.RETRY}),
    probe=ProbeRule("python", MappingProxyType({"entry": "tests.faults.host:seen", "remote_id": "id"})),
)
POLICIES = Policies(
    hash="0" * 64,
    types=MappingProxyType({"charge_order": CHARGE}),
    # It says that it honours keys and does not, so every second sending shows in the count of effects.
    destinations=MappingProxyType({"payments": Destination("payments", honours_idempotency_key=True)}),
)
RECONCILER = Actor(ActorKind.RECONCILER, "reconciler-1")


@dataclass(frozen=True)
class Shop:
    """A host on one database, and everything a test asks of it."""

    database: Database
    policies: Policies = POLICIES

    def context(self, name: str = "worker-1", **settings: Any) -> work.Context:
        return work.Context(self.policies, Actor(ActorKind.WORKER, name), host.handlers, **settings)

    def register(self, operation_id: str = "op-1", **fields: Any) -> ledger.Registered:
        given = {"entity_type": "order", "entity_id": operation_id, "destination": "payments", **fields}
        new = NewOperation(operation_id, "shop", "charge_order", **given)
        return transact(self.database, lambda session: ledger.register(session, new, policies=self.policies))

    def send(self) -> None:
        """One round of a worker: rescue, then send what is due."""
        context = self.context()
        work.rescue_lost(self.database, context)
        while work.send_due(self.database, context):
            pass

    def reconcile(self) -> None:
        reconciliation.run(self.database, policies=self.policies, actor=RECONCILER, origin="test", window=NO_TIME)

    def wait(self, passing: timedelta = timedelta(hours=2)) -> None:
        """Let time pass: what was to come then is due now."""

        def unit(session: Any) -> None:
            for model, columns in (
                (Operation, ("lease_until", "next_attempt_at", "deadline_at")),
                (DestinationBudget, ("paused_until",)),
            ):
                for row in session.scalars(select(model)).all():
                    for column in columns:
                        at = getattr(row, column)
                        setattr(row, column, at - passing if at else None)

        transact(self.database, unit)

    def row(self, operation_id: str = "op-1") -> Operation:
        with reading(self.database) as session:
            return session.scalars(select(Operation).where(Operation.operation_id == operation_id)).one()

    def events(self, operation_id: str = "op-1") -> list[OperationEvent]:
        with reading(self.database) as session:
            return list(
                session.scalars(
                    select(OperationEvent)
                    .join(Operation, Operation.id == OperationEvent.operation_id)
                    .where(Operation.operation_id == operation_id)
                    .order_by(OperationEvent.seq)
                )
            )

    def path(self, operation_id: str = "op-1") -> list[str]:
        """The states that the operation went through."""
        return [event.to_state for event in self.events(operation_id) if event.to_state]

    def facts(self, operation_id: str = "op-1") -> tuple[int, str]:
        """How many effects the destination counted, and the state of the ledger; the audit log must verify."""
        with reading(self.database) as session:
            assert audit.verify(session).intact
        return host.effects().count(operation_id), self.row(operation_id).state


@pytest.fixture
def shop(database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shop:
    monkeypatch.setenv("EFFECTS", str(tmp_path / "effects"))
    return Shop(database)


@pytest.fixture
def misbehave(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Make the host go wrong in a way that `host.charge` knows; an empty name ends it."""
    return lambda behaviour: monkeypatch.setenv("BEHAVIOUR", behaviour)


Worker = Callable[..., subprocess.Popen[bytes]]


@pytest.fixture
def worker(shop: Shop, tmp_path: Path) -> Worker:
    """Start `dashboard worker` as a process of its own; what it says goes to `worker.log`."""

    def start(*options: str, **environment: str) -> subprocess.Popen[bytes]:
        url = shop.database.url.render_as_string(hide_password=False)
        command = [sys.executable, "-m", "dashboard", "worker", "--handlers", "tests.faults.host:handlers", *options]
        environment = {**os.environ, "DASHBOARD_DATABASE_URL": url, **environment}
        with (tmp_path / "worker.log").open("ab") as log:
            return subprocess.Popen(command, cwd=ROOT, env=environment, stdout=log, stderr=log)

    return start


def set_columns(database: Database, operation_id: str, **values: object) -> None:
    """Write columns past all rules, as a fault would."""

    def unit(session: Any) -> None:
        session.execute(update(Operation).where(Operation.operation_id == operation_id).values(**values))

    transact(database, unit)


def database_now(database: Database) -> Any:
    """The database's time."""
    with reading(database) as session:
        return clock(session)
