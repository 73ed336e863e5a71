import signal

import pytest

from tests.faults.conftest import Shop, Worker


@pytest.mark.parametrize(("moment", "verdict"), [("die before", "absent"), ("die after", "correct")])
def test_a_killed_worker_leaves_one_effect_in_the_end(shop: Shop, worker: Worker, moment: str, verdict: str) -> None:
    """Faults 1 and 2: kill -9 before the effect, and after it but before it is recorded."""
    shop.register()
    process = worker("--once", BEHAVIOUR=moment)
    assert process.wait(60) == -signal.SIGKILL
    assert shop.row().state == "processing"

    shop.send()
    assert shop.row().state == "processing", "the lease still holds"
    shop.wait()
    shop.send()
    assert shop.row().state == "awaiting_confirmation"
    shop.reconcile()
    assert shop.row().verdict == verdict
    shop.wait()
    shop.send()
    assert shop.facts() == (1, "confirmed")
    assert "pending" not in shop.path()[1:]
