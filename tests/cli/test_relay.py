"""`dashboard relay` as it is typed: what it publishes, and what it needs."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from dashboard.db import Database, transact
from tests import factories
from tests.cli.conftest import Run
from tests.receivers import SECRET, SECRET_ENV, Receiver, webhook_receiver


@pytest.fixture
def receiver(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Receiver]:
    policies = tmp_path / "policies.toml"
    monkeypatch.setenv(SECRET_ENV, SECRET)
    monkeypatch.setenv("DASHBOARD_POLICIES", str(policies))
    with webhook_receiver() as receiver:
        policies.write_text(receiver.policy())
        yield receiver


def test_it_publishes_what_is_due_and_says_what_became_of_it(ready: Database, run: Run, receiver: Receiver) -> None:
    receiver.answer = lambda delivery: {"bad": 410, "late": 500}.get(delivery.event["subject"], 204)
    for key in ("a", "b", "bad", "late"):
        transact(ready, lambda session, key=key: factories.message(session, aggregate_key=key))  # type: ignore[misc]
    ended = run("relay", "--once")
    assert ended.status == 0
    told = [json.loads(line) for line in ended.err.splitlines()]
    assert sorted(line["reason"] for line in told) == ["it answered 410 Gone", "it answered 500 Internal Server Error"]
    assert ended.out == "2 published, 1 to be tried again, 1 dead, 0 given back.\n"
    assert run("relay", "--once").out.startswith("0 published, 0 to be tried again")


def test_without_sinks_it_says_what_is_missing(ready: Database, run: Run) -> None:
    ended = run("relay", "--once")
    assert (ended.status, ended.out) == (2, "")
    assert "[sinks.NAME]" in ended.err
