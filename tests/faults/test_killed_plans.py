"""A large plan on PostgreSQL: watched, stopped, killed and gone on with; every row once, and every sum exact.

It has `PLAN_ROWS` rows: 300 where nothing else is said, and `PLAN_ROWS=10000` is the largest there is.
"""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path

import pytest

from dashboard.db import Database, reading
from dashboard.domain.permissions import Role
from dashboard.queries.bulk import sums_of
from tests.services.people import person
from tests.services.planning import add_many, facts, make, outcomes, state_of, step

ROOT = Path(__file__).resolve().parents[2]
ROWS = int(os.environ.get("PLAN_ROWS", "300"))
PATIENCE_SECONDS = 60 + ROWS

pytestmark = pytest.mark.servers
StartWorker = Callable[[], subprocess.Popen[bytes]]


@pytest.fixture
def start_worker(database: Database, tmp_path: Path) -> Iterator[StartWorker]:
    """Start `dashboard worker` as a process of its own."""
    started: list[subprocess.Popen[bytes]] = []
    url = database.url.render_as_string(hide_password=False)

    def start() -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "dashboard", "worker"]
        with (tmp_path / "worker.log").open("ab") as log:
            started.append(
                subprocess.Popen(
                    command, cwd=ROOT, env={**os.environ, "DASHBOARD_DATABASE_URL": url}, stdout=log, stderr=log
                )
            )
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.wait()


def settled(database: Database, plan: int) -> int:
    with reading(database) as session:
        return sums_of(session, plan).settled


def wait_for(condition: Callable[[], bool]) -> None:
    ends = time.monotonic() + PATIENCE_SECONDS
    while not condition():
        assert time.monotonic() < ends, "nothing came of it in time"
        time.sleep(0.05)


@pytest.mark.parametrize("engine_name", ["postgresql"])
def test_a_plan_is_stopped_and_killed_and_each_row_is_done_once(database: Database, start_worker: StartWorker) -> None:
    operator = person(database, Role.OPERATOR)
    plan = make(database, operator, add_many(database, ROWS)).plan_id
    step(database, operator, plan, "start")
    first = start_worker()
    wait_for(lambda: settled(database, plan) > 0)
    step(database, operator, plan, "stop")
    seen = settled(database, plan)
    assert (state_of(database, plan)[0], 0 < seen < ROWS) == ("stopped", True)
    time.sleep(1)
    assert settled(database, plan) == seen, "a stopped plan does nothing"

    step(database, operator, plan, "resume", key="step-2")
    wait_for(lambda: settled(database, plan) > seen)
    first.kill()
    assert first.wait(60) == -signal.SIGKILL
    assert state_of(database, plan)[0] == "running"
    for _ in range(2):
        start_worker()
    wait_for(lambda: state_of(database, plan)[0] == "done")

    assert outcomes(database, plan) == {"done": ROWS}
    assert facts(database, plan) == (ROWS, ROWS, ROWS, Decimal(ROWS * (ROWS + 1)) / 200)
