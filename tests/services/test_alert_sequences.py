"""Whatever happens in whatever order, a group begins, lasts and ends, and nobody is told twice of one thing."""

import re
import shutil
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import delete, event, update

from dashboard.db import Database, transact
from dashboard.models import Alert, AlertGroup, AlertNotice, AlertSilence, Operation
from tests import factories
from tests.services.watching import Watch, watching

TYPES = ("charge_order", "refund_order")
RULES = """
[alerts]
repeat = "1h"
[destinations.payments]
[defaults.alerts]
accumulation = { above = 1, for = "10m" }
age = { above = "12h", for = "0s" }
""" + "".join(f'[types.{name}]\ndestination = "payments"\n' for name in TYPES)
# A beginning may come again after a silence; an end only after a beginning.
TOLD = re.compile(r"(F(F|R)*E)*(F(F|R)*)?")
UNSILENCED = re.compile(r"(FR*E)*(FR*)?")

counts = st.tuples(st.integers(0, 3), st.integers(0, 3))
steps = st.lists(st.tuples(counts, st.integers(1, 90), st.booleans()), min_size=1, max_size=14)


@given(steps)
@settings(max_examples=30, deadline=None)
def test_a_group_is_told_that_it_began_before_it_is_told_that_it_ended(
    sqlite_template: Path, taken: Sequence[tuple[tuple[int, int], int, bool]]
) -> None:
    with TemporaryDirectory() as folder:
        path = shutil.copy(sqlite_template, Path(folder) / "test.sqlite3")
        database = Database(f"sqlite:///{path}")
        event.listen(database.engine, "connect", lambda own, _record: own.execute("PRAGMA synchronous=OFF"))
        watch = watching(database, RULES)
        watch.tell(mail=["ops@shop.example"])
        for numbers, minutes, silences in taken:
            _become(watch, numbers, silences=silences)
            watch.look(timedelta(minutes=minutes))
            transact(database, lambda session: session.execute(update(AlertNotice).values(state="sent")))
            _check(watch)
        told = "".join({"firing": "F", "repeat": "R", "resolved": "E"}[kind] for _, kind, _ in watch.notices())
        expected = TOLD if any(silences for *_, silences in taken) else UNSILENCED
        assert expected.fullmatch(told), told
        database.dispose()


def _become(watch: Watch, numbers: tuple[int, int], *, silences: bool) -> None:
    """So many operations of each type wait now; perhaps somebody silences the first of the types for an hour."""
    transact(watch.database, lambda session: session.execute(delete(Operation)))
    for name, number in zip(TYPES, numbers, strict=True):
        if number:
            watch.operations(number, type=name, created_at=watch.now - timedelta(hours=number * 5))
    if silences:
        until = watch.now + timedelta(hours=1)
        form = {"created_by": "ana@example.com", "idempotency_key": str(watch.now), "reason": factories.NOTE}
        watch.add(AlertSilence(subject=TYPES[0], rule="", created_at=watch.now, ends_at=until, **form))


def _check(watch: Watch) -> None:
    """At most one alert of a rule and subject is not over, and there is a group exactly while receivers think so."""
    alerts = watch.rows(Alert)
    keys = [(alert.rule, alert.subject) for alert in alerts if alert.state != "resolved"]
    assert len(keys) == len(set(keys))
    kinds = [kind for _, kind, _ in watch.notices()]
    with_group = transact(watch.database, lambda session: session.query(AlertGroup).count())
    assert with_group == int(bool(kinds) and kinds[-1] != "resolved")
    # Nothing that was told fires any more: then that was told too.
    assert with_group or not [alert for alert in alerts if alert.told_at and alert.end_told_at is None]
