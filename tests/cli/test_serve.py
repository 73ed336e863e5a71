import socket

import pytest
from werkzeug.test import Client

from dashboard.app import create_app
from dashboard.cli.serve import listen, serving
from dashboard.config import Settings
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


@pytest.mark.parametrize("trusted", [None, "127.0.0.1", "10.0.0.9"])
def test_who_asks_through_a_proxy_on_this_machine_is_not_this_machine(
    sqlite_database: Database, trusted: str | None
) -> None:
    app = create_app(Settings(demo=True), database=sqlite_database)
    with listen("127.0.0.1", 0) as opened:
        server = serving(app, opened, trusted_proxy=trusted)
        client = Client(server.application)
        server.close()
    asked = {"path": "/metrics", "environ_base": {"REMOTE_ADDR": "127.0.0.1"}}
    assert client.get(**asked).status_code == 200
    assert client.get(**asked, headers={"X-Forwarded-For": "203.0.113.7"}).status_code == 403
