"""`dashboard rollup` folds, checks and rebuilds; its exit status says whether figures differ."""

from sqlalchemy import text

from dashboard.db import Database, transaction
from tests import factories
from tests.cli.conftest import Run


def test_figures_are_folded_and_found_to_be_right(ready: Database, run: Run) -> None:
    with transaction(ready) as session:
        factories.operation(session, verdict="absent")
    folded = run("rollup", "fold")
    assert (folded.status, folded.out, folded.err) == (0, "2 changes folded.\n", "")
    checked = run("rollup", "check")
    assert (checked.status, checked.out) == (0, "All figures are what the tables say.\n")


def test_a_drift_is_told_and_mended(ready: Database, run: Run) -> None:
    with transaction(ready) as session:
        factories.operation(session)
        session.execute(text("DELETE FROM rollup_deltas"))
    checked = run("rollup", "check")
    assert checked.status == 1
    assert "2026-11-30 created, tenant tienda-es, type charge_order: 0 counted, 1 in the tables" in checked.out
    assert "dashboard rollup rebuild --day 2026-11-30" in checked.out
    rebuilt = run("rollup", "rebuild", "--day", "2026-11-30")
    assert (rebuilt.status, rebuilt.out) == (0, "1 days counted anew.\n")
    assert run("rollup", "check", "--day", "2026-11-30").status == 0


def test_a_day_that_is_none_is_refused(ready: Database, run: Run) -> None:
    assert run("rollup", "rebuild", "--day", "yesterday").status == 2
