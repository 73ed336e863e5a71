"""`dashboard retention` as it is typed."""

from datetime import timedelta

from dashboard.db import Database, transact
from tests.cli.conftest import Run
from tests.services.test_retention import add_record, purged_keys


def test_it_says_what_would_go_and_then_what_went(ready: Database, run: Run) -> None:
    transact(ready, lambda session: add_record(session, "old", age=timedelta(days=401)).id)
    assert run("retention", "--dry-run").out.startswith("1 idempotency records and 0 operations would be purged:")
    assert purged_keys(ready) == set()
    ended = run("retention")
    assert (ended.status, ended.err) == (0, "")
    assert ended.out.startswith("1 idempotency records and 0 operations purged: 0 bodies,")
    assert purged_keys(ready) == {"old"}
    assert run("retention").out.startswith("0 idempotency records")
