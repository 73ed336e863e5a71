import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from dashboard.db import Database
from dashboard.services import schema
from tests import servers
from tests.conftest import create_database
from tests.faults import host
from tests.faults.conftest import Shop, Worker

NAMES = [f"op-{number}" for number in range(8)]
SECONDS = 60

pytestmark = pytest.mark.parametrize("engine_name", ["postgresql", "mariadb"], indirect=True)


@pytest.fixture
def server(engine_name: str) -> Iterator[servers.Server]:
    """A server of the test's own, which it may stop."""
    starting = servers.restartable_postgresql if engine_name == "postgresql" else servers.restartable_mariadb
    with starting() as server:
        yield server


@pytest.fixture
def database(server: servers.Server) -> Iterator[Database]:
    """A migrated database on that server."""
    database = Database(create_database(server.url, "restarted"))
    schema.upgrade(database)
    yield database
    database.dispose()


def test_a_worker_outlives_a_restart_of_its_server(
    shop: Shop, server: servers.Server, worker: Worker, tmp_path: Path
) -> None:
    """Fault 20: what is in hand is recorded over a new connection, and the rest is sent once."""
    for name in NAMES:
        shop.register(name)
    process = worker(SECONDS="0.2")
    wait_for(effects=2)
    server.stop()
    wait_for(effects=3, seconds=2)
    server.start()
    wait_for(effects=len(NAMES))
    deadline = time.monotonic() + SECONDS
    while shop.row(NAMES[-1]).state != "confirmed" and time.monotonic() < deadline:
        time.sleep(0.05)
    assert process.poll() is None
    process.send_signal(signal.SIGTERM)
    assert process.wait(SECONDS) == 143
    assert "the database is away, trying again" in (tmp_path / "worker.log").read_text()
    assert [shop.facts(name) for name in NAMES] == [(1, "confirmed")] * len(NAMES)
    assert [shop.path(name) for name in NAMES] == [["pending", "processing", "confirmed"]] * len(NAMES)


def wait_for(*, effects: int, seconds: float = SECONDS) -> None:
    """Wait until the destination counted so many, or the time is over."""
    deadline = time.monotonic() + seconds
    while len(host.effects()) < effects and time.monotonic() < deadline:
        time.sleep(0.02)
