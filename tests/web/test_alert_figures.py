"""/metrics says which alerts fire, and when they were last looked at."""

from dashboard.db import Database
from tests.services.watching import ACCUMULATION, watching
from tests.web.lists import now
from tests.web.test_metrics import figures


def test_what_fires_is_counted_by_rule(database: Database) -> None:
    assert ("alerts_last_look_timestamp_seconds",) not in figures(database)
    watch = watching(database, ACCUMULATION.replace("10m", "0s"))
    watch.now = now()
    watch.operations(2)
    watch.look()
    found = figures(database)
    assert (found["alerts_firing", "accumulation"], found["alerts_firing", "age"]) == (1, 0)
    assert found["alerts_last_look_timestamp_seconds",] == watch.now.timestamp()
