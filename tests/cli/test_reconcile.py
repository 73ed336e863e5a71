"""`dashboard reconcile`, as it is typed."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from dashboard.db import Database
from tests.cli.conftest import Run
from tests.destination import Planned
from tests.reconciling import Payments

ROOT = Path(__file__).resolve().parents[2]
POLICY = """
version = 1
[destinations.payments]
base_url = "{url}"
allow_private = true
[defaults]
window = {{ after = "1m", cap = "1h" }}
[types.charge_order]
description = "Charge an order"
destination = "payments"
probe = {{ kind = "http", path = "/payments?operation_id={{operation_id}}", items = "data", as_of = "as_of" }}
compare = [{{ field = "amount", expected = "amount", actual = "amount", kind = "decimal" }}]
"""


@pytest.fixture
def payments(local_payments: Payments, ready: Database, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Payments:
    """Operations whose policy lies in a file."""
    (folder / "policies.toml").write_text(POLICY.format(url=local_payments.destination.url))
    monkeypatch.setenv("DASHBOARD_POLICIES", str(folder / "policies.toml"))
    return local_payments


def test_one_pass_tells_what_it_found(payments: Payments, run: Run) -> None:
    payments.sent("op-1")
    payments.shows("op-1")
    payments.sent("op-2")
    ended = run("reconcile", "--once")
    assert ended.status == 0
    assert ended.out == (
        "Run 1: 2 looked at: 1 correct, 0 absent, 0 divergent, 1 ambiguous, 0 not applicable; 1 changed state.\n"
    )
    assert payments.row("op-1").state == "confirmed"


def test_with_nothing_due_it_says_so(payments: Payments, run: Run) -> None:
    assert run("reconcile", "--once").out == "Nothing is due.\n"


def test_observing_changes_nothing_and_says_so(payments: Payments, run: Run) -> None:
    payments.sent()
    payments.shows()
    ended = run("reconcile", "--once", "--observe")
    assert "observed only, nothing changed" in ended.out
    assert payments.row().revision == 1


def test_type_limit_and_window_choose_what_is_looked_at(payments: Payments, run: Run) -> None:
    for number in range(3):
        payments.sent(f"op-{number}")
    assert "Run 1: 1 looked at" in run("reconcile", "--once", "--type", "charge_order", "--limit", "1").out
    assert run("reconcile", "--once", "--window", "2h").out == "Nothing is due.\n"
    assert "Run 2: 3 looked at" in run("reconcile", "--once", "--window", "30m").out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--type", "charge_ordr"), "The policy file has no type 'charge_ordr'; it has: charge_order."),
        (("--window", "5 minutes"), "'5 minutes' is not a whole number and a unit, such as 30s, 5m or 2h."),
        (("--limit", "0"), "0 is not in the range x>=1"),
    ],
)
def test_a_wrong_argument_says_how_to_mend_it(
    payments: Payments, run: Run, arguments: tuple[str, ...], words: str
) -> None:
    ended = run("reconcile", "--once", *arguments)
    assert (ended.status, words in ended.err) == (2, True)


def test_sigterm_finishes_the_operation_in_hand(payments: Payments) -> None:
    for number in range(50):
        payments.sent(f"op-{number}")
    payments.destination.always_answer(Planned(body=b'{"data": []}', delay=0.1))
    process = subprocess.Popen([sys.executable, "-m", "dashboard", "reconcile"], cwd=ROOT, env=dict(os.environ))
    _until(payments.destination.looks)
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=30) == 143
    run = payments.runs()[0]
    assert run.state == "stopped"
    assert 0 < run.examined == len(payments.findings()) < 50
    assert not any(payments.row(f"op-{number}").lease_token for number in range(50))


def _until(condition: Callable[[], object]) -> None:
    ends = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < ends
        time.sleep(0.02)
