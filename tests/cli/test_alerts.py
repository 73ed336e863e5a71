"""`dashboard alerts` as it is typed: what fires, what cannot be read, and what the worker does of it."""

from pathlib import Path

import pytest
import sqlalchemy as sa

from dashboard.db import Database, transact
from tests import factories
from tests.cli.conftest import Run
from tests.services.watching import ACCUMULATION, watching

AT_ONCE = ACCUMULATION.replace("10m", "0s")


@pytest.fixture(autouse=True)
def policies(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    file = tmp_path / "policies.toml"
    file.write_text(AT_ONCE)
    monkeypatch.setenv("DASHBOARD_POLICIES", str(file))
    return file


def test_it_says_what_fires_and_what_to_do(ready: Database, run: Run) -> None:
    assert run("alerts", "--once").out == "Nothing fires.\n"
    transact(ready, lambda session: session.execute(sa.text("UPDATE alert_evaluations SET evaluated_at = NULL")))
    watching(ready).operations(2)
    ended = run("alerts", "--once")
    assert (ended.status, ended.err) == (0, "")
    assert ended.out.startswith("firing: Operations of charge_order that need a person: 2; the limit is 1. Look ")


def test_figures_that_cannot_be_read_are_a_finding(ready: Database, run: Run) -> None:
    transact(ready, lambda session: factories.operation(session).id)
    broken = sa.text("UPDATE operations SET created_at = 'yesterday'")
    transact(ready, lambda session: session.execute(broken))
    ended = run("alerts", "--once")
    assert (ended.status, ended.out.splitlines()[-1]) == (
        1,
        "Could not be read: open operations. The log says why.",
    )


def test_a_worker_watches_too(ready: Database, run: Run) -> None:
    watch = watching(ready)
    watch.operations(2)
    assert run("worker", "--once").status == 0
    assert watch.states() == [("accumulation", "charge_order", "firing")]
