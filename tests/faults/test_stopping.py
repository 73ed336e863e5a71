import signal
import time
from pathlib import Path

from tests.faults import host
from tests.faults.conftest import Shop, Worker

NAMES = [f"op-{number}" for number in range(8)]


def test_sigterm_finishes_what_was_begun_and_puts_the_rest_back(shop: Shop, worker: Worker, tmp_path: Path) -> None:
    """Fault 32."""
    for name in NAMES:
        shop.register(name)
    process = worker(SECONDS="0.5")
    deadline = time.monotonic() + 60
    while len(host.effects()) < 2 and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(signal.SIGTERM)
    assert process.wait(60) == 143
    assert "Traceback" not in (tmp_path / "worker.log").read_text()
    rows = [shop.row(name) for name in NAMES]
    done = [row.operation_id for row in rows if row.state == "confirmed"]
    assert sorted(host.effects()) == sorted(done)
    assert 1 < len(done) < len(NAMES)
    waiting = [row for row in rows if row.state != "confirmed"]
    assert {(row.attempts, row.lease_token) for row in waiting} == {(0, None)}
    shop.send()
    assert sorted(host.effects()) == NAMES
    assert [shop.facts(name) for name in NAMES] == [(1, "confirmed")] * len(NAMES)
