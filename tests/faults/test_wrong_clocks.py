from pathlib import Path

import pytest

from tests.faults import host
from tests.faults.conftest import ROOT, Shop, Worker, database_now, set_columns

WRONG = ROOT / "tests" / "faults" / "shifted_clock"


@pytest.mark.parametrize("shift", ["-600", "600"])
@pytest.mark.parametrize("engine_name", ["postgresql", "mariadb"], indirect=True)
def test_a_wrong_client_clock_changes_no_decision(shop: Shop, worker: Worker, shift: str, tmp_path: Path) -> None:
    """Fault 19: due, not due, held and lost are told by the database's clock. SQLite has no clock but the client's."""
    now = database_now(shop.database)
    for name in ("due", "held", "lost"):
        shop.register(name)
    shop.register("later", due_at=now.replace(year=now.year + 1))
    for name, seconds in (("held", 300), ("lost", -300)):
        until = now.fromtimestamp(now.timestamp() + seconds, tz=now.tzinfo)
        set_columns(shop.database, name, state="processing", lease_token=name, lease_until=until)
    process = worker("--once", CLOCK_SHIFT=shift, PYTHONPATH=str(WRONG))
    assert process.wait(60) == 0, (tmp_path / "worker.log").read_text()
    found = {name: shop.row(name).state for name in ("due", "later", "held", "lost")}
    assert found == {"due": "confirmed", "later": "pending", "held": "processing", "lost": "awaiting_confirmation"}
    assert host.effects() == ["due"]
    confirmed_at = shop.row("due").confirmed_at
    assert confirmed_at is not None
    assert abs((confirmed_at - now).total_seconds()) < 120
    assert shop.facts("due") == (1, "confirmed")
