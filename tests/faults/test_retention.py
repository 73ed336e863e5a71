"""Fault 30: retention while something is pending -> kept."""

import signal
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import func, select, update
from sqlalchemy.orm import Session

from dashboard.db import Database, reading, transact
from dashboard.domain.policy import Policies, TypePolicy
from dashboard.models import Action, IdempotencyRecord, Operation
from dashboard.services import audit, retention
from tests import factories
from tests.faults.conftest import ROOT, Shop
from tests.services.test_retention import add_operation, add_record, purge, purged_keys

YEARS = timedelta(days=4000)


def purged_operations(database: Database) -> set[str]:
    with reading(database) as session:
        return set(session.scalars(select(Operation.operation_id).where(Operation.purged_at.is_not(None))))


def test_what_is_unsettled_is_kept_however_old(database: Database) -> None:
    def unit(session: Session) -> None:
        for state in ("processing", "pending"):
            add_record(session, state, age=YEARS, state=state, expires_at=factories.NOW - YEARS)
        for state in ("pending", "processing", "retry_scheduled", "awaiting_confirmation", "manual_review"):
            add_operation(session, age=YEARS, state=state)

    transact(database, unit)
    assert not retention.would_purge(database, policies=Policies())
    assert not purge(database)


@pytest.mark.parametrize("waits", ["itself", "compensation", "action", "proposal"])
def test_an_answer_is_kept_while_anything_about_its_operation_is_open(database: Database, waits: str) -> None:
    def unit(session: Session) -> None:
        operation = add_operation(session, age=YEARS, operation_id="op-1", idempotency_key="same key")
        add_record(session, "named", age=YEARS, operation_id="op-1")
        add_record(session, "same key", age=YEARS)
        add_record(session, "other", age=YEARS)
        keep_open(session, operation, waits)

    transact(database, unit)
    purge(database)
    assert purged_keys(database) == {"other"}
    assert purged_operations(database) == set()


def keep_open(session: Session, operation: Operation, waits: str) -> None:
    if waits == "itself":
        operation.state = "manual_review"
    elif waits == "compensation":
        factories.operation(session, parent_id=operation.id, state="pending")
    else:
        proposed = waits == "proposal"
        session.add(an_action(operation, state="proposed" if proposed else "executed", verify=not proposed))


def an_action(operation: Operation, *, state: str, verify: bool) -> Action:
    return Action(
        operation_id=operation.id,
        tenant=operation.tenant,
        type=operation.type,
        action="requeue",
        state=state,
        outcome="to_verify" if verify else None,
        idempotency_key="form-1",
        revision=1,
        reason_code="effect_absent",
        note=factories.NOTE,
        risk="low",
        snapshot={},
        requested_by="ana@example.com",
        requested_at=factories.NOW,
    )


def test_one_effect_is_proven_after_retention_came_by_meanwhile(shop: Shop) -> None:
    """The host's answer is lost, retention runs with no patience at all, and the evidence is still there."""
    impatient = Policies(types={"charge_order": TypePolicy(name="charge_order", retention=timedelta(0))})
    shop.register()
    transact(shop.database, lambda session: add_record(session, "op-1", state="pending", operation_id="op-1").id)
    retention.purge(shop.database, policies=impatient, actor=shop.context().actor)
    shop.send()
    retention.purge(shop.database, policies=impatient, actor=shop.context().actor)
    assert shop.facts() == (1, "confirmed")
    shop.register()
    shop.send()
    assert shop.facts() == (1, "confirmed"), "a purged operation is known, and not sent again"


def test_a_run_that_is_killed_between_batches_is_taken_up_again(database: Database, tmp_path: Path) -> None:
    transact(database, lambda session: [add_record(session, f"key-{n}").id for n in range(6)])
    code = (
        "import os, sys\n"
        "from dashboard.db import Database\n"
        "from dashboard.services import retention\n"
        "from tests.services.test_retention import JANITOR, POLICIES\n"
        f"kill = lambda total: os.kill(os.getpid(), {signal.SIGKILL.value})\n"
        "retention.purge(Database(sys.argv[1]), policies=POLICIES, actor=JANITOR, at_once=2, progress=kill)\n"
    )
    url = database.url.render_as_string(hide_password=False)
    ended = subprocess.run([sys.executable, "-c", code, url], cwd=ROOT, check=False)
    assert ended.returncode == -signal.SIGKILL
    assert len(purged_keys(database)) == 2
    assert purge(database).records == 4
    with reading(database) as session:
        assert audit.verify(session).intact


def test_two_runs_at_once_purge_each_row_once(database: Database) -> None:
    transact(database, lambda session: [add_record(session, f"key-{n}").id for n in range(4)])

    def unit(session: Session) -> None:
        held = session.scalars(
            select(IdempotencyRecord).where(IdempotencyRecord.key == "key-1").with_for_update()
        ).one()
        if database.dialect != "sqlite":
            assert purge(database).records == 3, "what another transaction holds is left alone"
        session.execute(update(IdempotencyRecord).where(IdempotencyRecord.id == held.id).values(replay_count=1))

    transact(database, unit)
    assert purge(database).records == (4 if database.dialect == "sqlite" else 1)
    with reading(database) as session:
        assert session.scalar(select(func.count()).where(IdempotencyRecord.kept == 1)) == 0
