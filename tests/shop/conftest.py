"""A payment provider that nobody here wrote, a wire that loses answers, and a shop whose processes are killed."""

import http.client
import os
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
from sqlalchemy import func, select, update
from sqlalchemy.orm import Session

from dashboard.db import Database, clock, reading, transact
from dashboard.models import Operation, OperationEvent
from dashboard.services import audit
from examples.shop import orders, payments

ROOT = Path(__file__).resolve().parents[2]
KEY = "sk_test_example"
PATIENCE_SECONDS = 240
UNDER_WAY = ("pending", "processing", "awaiting_confirmation", "retry_scheduled")


@pytest.fixture(scope="session")
def provider() -> Iterator[str]:
    """The address of localstripe, in a process of its own."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "examples.shop.server", str(port)]
    with subprocess.Popen(command, cwd=ROOT, stderr=subprocess.DEVNULL) as process:
        _wait_until_open(port)
        yield f"http://127.0.0.1:{port}"
        process.terminate()


@dataclass
class Wire:
    """What lies between the workers and the provider; `loses` is asked before each request that makes an effect.

    It says "answer" or "request" for what is lost, and nothing where all goes well.
    """

    url: str = ""
    loses: Callable[[], str] = field(default=lambda: "")
    passed: int = 0
    under_way: set[int] = field(default_factory=set)

    def wait_for(self, requests: int, *, patience: float) -> None:
        """Wait until so many more requests came by, or nothing comes any more."""
        enough, until = self.passed + requests, time.monotonic() + patience
        while self.passed < enough and time.monotonic() < until:
            time.sleep(0.005)

    def run_dry(self) -> None:
        """Wait until nothing is on its way: in a minute everything arrives."""
        until = time.monotonic() + PATIENCE_SECONDS
        while self.under_way and time.monotonic() < until:
            time.sleep(0.01)
        assert not self.under_way


@pytest.fixture
def wire(provider: str) -> Iterator[Wire]:
    with _forwarding(provider) as wire:
        yield wire


@dataclass(frozen=True)
class Shop:
    """The example's shop on one database, seen from outside."""

    database: Database
    provider: str
    wire: Wire
    log: Path

    def place(self, *order_ids: str, customer: str) -> None:
        for order_id in order_ids:
            transact(self.database, partial(orders.place, order_id=order_id, customer=customer, cents=1990))

    def start(self, *command: str, **environment: str) -> subprocess.Popen[bytes]:
        """A process of the shop."""
        settings = {
            "DASHBOARD_DATABASE_URL": self.database.url.render_as_string(hide_password=False),
            "DASHBOARD_POLICIES": str(ROOT / "examples/shop/policies.toml"),
            "PAYMENTS_URL": self.wire.url,
            "STRIPE_API_KEY": KEY,
        }
        with self.log.open("ab") as log:
            return subprocess.Popen(
                [sys.executable, "-m", *command],
                cwd=ROOT,
                env={**os.environ, **settings, **environment},
                stdout=log,
                stderr=log,
            )

    def work(self, *options: str, handlers: str = "examples.shop.handlers", **environment: str) -> "Running":
        return self.start("dashboard", "worker", "--handlers", f"{handlers}:handlers", *options, **environment)

    def leases_end(self) -> None:
        """Let the minute pass after which what a dead worker held counts as lost."""
        self.wire.run_dry()

        def unit(session: Session) -> None:
            now = clock(session)
            held = update(Operation).where(Operation.lease_until.is_not(None), Operation.lease_until > now)
            session.execute(held.values(lease_until=now))

        transact(self.database, unit)

    def work_until_quiet(self) -> None:
        """Let a worker go on until nothing is under way; whatever is left then waits for a person."""
        until = time.monotonic() + PATIENCE_SECONDS
        with self.work("--concurrency", "4") as process:
            while self.under_way() and time.monotonic() < until:
                time.sleep(0.2)
            process.terminate()
        assert self.under_way() == 0

    def under_way(self) -> int:
        with reading(self.database) as session:
            return session.scalar(select(func.count()).where(Operation.state.in_(UNDER_WAY))) or 0

    def states(self) -> dict[str, str]:
        with reading(self.database) as session:
            assert audit.verify(session).intact
            rows = session.execute(select(Operation.operation_id, Operation.state))
            return {row.operation_id: row.state for row in rows}

    def remote_ids(self) -> dict[str, str | None]:
        with reading(self.database) as session:
            rows = session.execute(select(Operation.operation_id, Operation.remote_id))
            return {row.operation_id: row.remote_id for row in rows}

    def path(self, operation_id: str) -> list[str]:
        with reading(self.database) as session:
            query = select(OperationEvent.to_state).join(Operation, Operation.id == OperationEvent.operation_id)
            query = query.where(Operation.operation_id == operation_id, OperationEvent.to_state.is_not(None))
            return [state for state in session.scalars(query.order_by(OperationEvent.seq)) if state]


Running = subprocess.Popen[bytes]


@pytest.fixture
def shop(database: Database, provider: str, wire: Wire, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shop:
    monkeypatch.setenv("PAYMENTS_URL", provider)
    payments.client.cache_clear()
    # On a server the tests of one process share a database.
    orders.TABLES.drop_all(database.engine)
    orders.TABLES.create_all(database.engine)
    return Shop(database, provider, wire, tmp_path / "shop.log")


def charged(customer: str) -> Counter[str]:
    """How many charges each operation made, counted by listing them at the provider."""
    listed = payments.client().v1.charges.list(params={"customer": customer, "limit": 100})
    return Counter(charge.metadata.to_dict()["operation_id"] for charge in listed.auto_paging_iter())


def _wait_until_open(port: int) -> None:
    until = time.monotonic() + 30
    while time.monotonic() < until:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
            return
        except ConnectionRefusedError:
            time.sleep(0.1)
    raise AssertionError("the payment provider did not start")


@contextmanager
def _forwarding(provider: str) -> Iterator[Wire]:
    wire = Wire()
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(wire, provider))
    server.daemon_threads = True
    wire.url = f"http://127.0.0.1:{server.server_port}"
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield wire
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _handler(wire: Wire, provider: str) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._pass_on(b"")

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if len(body) < int(self.headers["Content-Length"]):
                return  # whoever sent it was killed in the middle
            lost = wire.loses()
            wire.passed += 1
            wire.under_way.add(id(self))
            try:
                if lost != "request":
                    self._pass_on(body, silent=lost == "answer")
            finally:
                wire.under_way.discard(id(self))

        def _pass_on(self, body: bytes, *, silent: bool = False) -> None:
            self.close_connection = True
            headers = {name: value for name, value in self.headers.items() if name.lower() != "connection"}
            with closing(http.client.HTTPConnection(provider.removeprefix("http://"), timeout=30)) as connection:
                connection.request(self.command, self.path, body, headers)
                answer = connection.getresponse()
                told = answer.read()
            if silent:
                return
            with suppress(OSError):  # whoever asked was killed
                self.send_response(answer.status)
                self.send_header("Content-Type", answer.headers["Content-Type"])
                self.send_header("Content-Length", str(len(told)))
                self.send_header("Connection", "close")
                self.end_headers()
                self.wfile.write(told)

        def log_message(self, *_: object) -> None:
            """Stay silent."""

    return Handler
