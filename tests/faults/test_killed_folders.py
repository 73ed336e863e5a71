"""Processes that fold the figures of history, killed with a batch in hand: nothing is lost or counted twice."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from sqlalchemy import func, select

from dashboard.db import Database, reading
from dashboard.domain.permissions import Scope
from dashboard.models import RollupDelta
from dashboard.services import rollup_checks, rollups
from tests.services.rollup_changes import add_a_day_of_work, must_equal_rows

ROOT = Path(__file__).resolve().parents[2]
OPERATIONS = 4000
PATIENCE_SECONDS = 120

pytestmark = pytest.mark.servers


def left(database: Database) -> int:
    with reading(database) as session:
        return session.scalar(select(func.count()).select_from(RollupDelta)) or 0


def folder(database: Database) -> subprocess.Popen[bytes]:
    url = database.url.render_as_string(hide_password=False)
    environment, quiet = {**os.environ, "DASHBOARD_DATABASE_URL": url}, subprocess.DEVNULL
    return subprocess.Popen(
        [sys.executable, "-m", "dashboard", "rollup", "fold"],
        cwd=ROOT,
        env=environment,
        stdout=quiet,
        stderr=quiet,
    )


def kill_when_at_work(database: Database, process: subprocess.Popen[bytes]) -> None:
    """Kill it once it folded a batch, and so has the next one in hand."""
    before, ends = left(database), time.monotonic() + PATIENCE_SECONDS
    while left(database) == before:
        assert time.monotonic() < ends, "nothing was folded in time"
        time.sleep(0.01)
    process.kill()
    process.wait()


def test_a_folder_killed_with_a_batch_in_hand_loses_nothing_and_counts_nothing_twice(database: Database) -> None:
    add_a_day_of_work(database, OPERATIONS)
    for _ in range(2):
        process = folder(database)
        kill_when_at_work(database, process)
        assert 0 < left(database) < 3 * OPERATIONS
        must_equal_rows(database, (Scope(None, None),))
    rollups.fold(database)
    assert left(database) == 0
    must_equal_rows(database, (Scope("shop-7", None), Scope(None, "t3")))
    assert rollup_checks.check(database) == []
