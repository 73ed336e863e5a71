import socket

import pytest

from dashboard.db import Database
from tests.cli.conftest import Run


def test_a_taken_port_is_told(ready: Database, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DASHBOARD_SECRET_KEY", "a secret of the test's own")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        ended = run("serve", "--port", str(taken.getsockname()[1]))
    assert ended.status == 2
    assert "Choose another --port." in ended.err


def test_an_empty_database_is_not_served(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DASHBOARD_SECRET_KEY", "a secret of the test's own")
    ended = run("serve")
    assert ended.status == 3
    assert "dashboard db upgrade" in ended.err


def test_the_demo_whose_key_is_public_is_not_served(ready: Database, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DASHBOARD_DEMO", "1")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        ended = run("serve", "--port", str(taken.getsockname()[1]))
    assert (ended.status, ended.out) == (2, "")
    assert ended.err == "Error: DASHBOARD_DEMO: The key of the demo is public: unset it, or run `dashboard demo`.\n"
