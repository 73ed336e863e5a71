"""Fault 34, as people see it, and senders that die: one alert by age, one word that it is over, and none is lost."""

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from threading import Event

import pytest
from sqlalchemy import update

from dashboard.db import Database, reading, transact
from dashboard.models import AlertNotice
from dashboard.services import audit
from tests.alert_receiver import AlertReceiver, receiving_alerts
from tests.faults.conftest import ROOT, database_now
from tests.faults.test_outages import a_day
from tests.services.watching import MINUTE, Watch, watching

OPERATIONS = 10_000
PATIENCE_SECONDS = 60
DAY_AWAY = """
[destinations.payments]
[types.charge_order]
destination = "payments"
[types.charge_order.alerts]
accumulation = { above = 20, for = "10m" }
age = { above = "1h", for = "10m" }
deadline = { above = 0, for = "30m" }
divergence = { above = "0.02" }
"""
FIRES_AT_ONCE = "[types.charge_order.alerts]\naccumulation = { above = 0, for = '0s' }\n"


@pytest.fixture
def receiver() -> Iterator[AlertReceiver]:
    with receiving_alerts() as found:
        yield found


@pytest.mark.parametrize(("repeat", "repeats"), [("2d", 0), ("4h", 4)])
def test_a_day_away_with_ten_thousand_operations_is_told_once(
    database: Database, receiver: AlertReceiver, repeat: str, repeats: int
) -> None:
    """Age, then deadlines and accumulation: all of one destination, so there is one beginning and one end."""
    watch = watching(database, f'[alerts]\nrepeat = "{repeat}"\n{DAY_AWAY}')
    watch.tell(webhook=receiver.webhook())
    watch.operations(
        OPERATIONS,
        state="retry_scheduled",
        cause="not_sent",
        created_at=watch.now,
        deadline_at=watch.now + timedelta(hours=12),
    )
    for passing in a_day():
        watch.look(passing)
        watch.send()
    watch.settle()
    for passing in (MINUTE, 5 * MINUTE, timedelta(hours=6)):
        watch.look(passing)
        watch.send()
    expected = {"firing": 1, "resolved": 1} | ({"repeat": repeats} if repeats else {})
    assert Counter(kind for _, kind, _ in watch.notices()) == expected
    assert {(group, state) for group, _, state in watch.notices()} == {("destination:payments", "sent")}
    assert len(receiver.taken) == repeats + 2
    assert {state for _, _, state in watch.states()} == {"resolved"}
    assert {alert["labels"]["alertname"] for alert in receiver.taken[0]} == {"DashboardAge"}
    ended = {alert["labels"]["alertname"] for alert in receiver.taken[-1]}
    assert ended == ({"DashboardAge", "DashboardAccumulation", "DashboardDeadline"} if repeats else {"DashboardAge"})


Start = Callable[..., subprocess.Popen[bytes]]


@pytest.fixture
def start(database: Database, receiver: AlertReceiver, tmp_path: Path) -> Iterator[Start]:
    """Start `dashboard alerts` as a process of its own; what it says goes to `alerts.log`."""
    file = tmp_path / "policies.toml"
    webhook = f'webhook = {{ url = "{receiver.url}", allow_private = true, timeout = "20s" }}'
    file.write_text(f"[alerts]\n{webhook}\n{FIRES_AT_ONCE}")
    url = database.url.render_as_string(hide_password=False)
    environment = {**os.environ, "DASHBOARD_DATABASE_URL": url, "DASHBOARD_POLICIES": str(file)}
    started: list[subprocess.Popen[bytes]] = []

    def begin(*options: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "dashboard", "alerts", *options]
        with (tmp_path / "alerts.log").open("ab") as log:
            started.append(subprocess.Popen(command, cwd=ROOT, env=environment, stdout=log, stderr=log))
        return started[-1]

    yield begin
    for process in started:
        process.kill()
        process.wait()


def test_a_sender_that_is_killed_while_it_sends_loses_nothing(
    database: Database, receiver: AlertReceiver, start: Start, tmp_path: Path
) -> None:
    """The receiver has it, and the sender dies before it knows: it is posted again, the same."""
    asked, go_on = Event(), Event()

    def hesitate() -> int:
        asked.set()
        go_on.wait(PATIENCE_SECONDS)
        return 200

    receiver.answer = hesitate
    watch = Watch(database, watching(database).policies, database_now(database))
    watch.operations(1, created_at=watch.now)
    first = start("--once")
    assert asked.wait(PATIENCE_SECONDS), (tmp_path / "alerts.log").read_text()
    first.kill()
    first.wait()
    (held,) = watch.rows(AlertNotice)
    assert (held.state, held.attempts, held.lease_token is not None) == ("waiting", 1, True)
    go_on.set()
    lapse = update(AlertNotice).values(lease_until=AlertNotice.created_at)
    transact(database, lambda session: session.execute(lapse))
    second = start("--once")
    assert second.wait(PATIENCE_SECONDS) == 0, (tmp_path / "alerts.log").read_text()
    (sent,) = watch.rows(AlertNotice)
    assert (sent.state, sent.attempts) == ("sent", 2)
    assert receiver.posted == [receiver.posted[0]] * 2
    with reading(database) as session:
        assert audit.verify(session).intact


def test_two_who_watch_tell_once(database: Database, receiver: AlertReceiver, start: Start, tmp_path: Path) -> None:
    watch = Watch(database, watching(database).policies, database_now(database))
    watch.operations(1, created_at=watch.now)
    both = [start("--once") for _ in range(2)]
    assert [process.wait(PATIENCE_SECONDS) for process in both] == [0, 0], (tmp_path / "alerts.log").read_text()
    assert (len(receiver.posted), len(watch.notices())) == (1, 1)
    assert "firing: Operations of charge_order that need a person: 1" in (tmp_path / "alerts.log").read_text()
