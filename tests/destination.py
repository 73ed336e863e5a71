"""An outside system over HTTP on loopback that counts its effects and fails in the ways that real ones do.

    with running() as destination:
        destination.lose_answers(1)                 # the effect happens, the answer never comes
        httpx.post(destination.url + "/payments", json={"operation_id": "op-1", "amount": "10.00"})
        assert destination.count("op-1") == 1

`POST /payments` makes an effect; the header `Idempotency-Key` is honoured when `honours_keys` is set. `GET
/payments?operation_id=...` gives `{"data": [...], "as_of": ...}`. What is planned with a method holds for the next
requests only; attributes hold until they are changed.
"""

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

JSON = "application/json"


@dataclass(frozen=True)
class Planned:
    """An answer instead of the usual one."""

    status: int = 200
    body: bytes = b""
    content_type: str = JSON
    headers: tuple[tuple[str, str], ...] = ()
    lose: bool = False
    delay: float = 0.0


@dataclass
class Destination:
    """What the outside system knows and how it behaves; `effects` is everything that ever happened there."""

    url: str = ""
    honours_keys: bool = False
    hidden: bool = False
    clock_ahead: timedelta = timedelta(0)
    view_age: timedelta = timedelta(0)
    effects: list[dict[str, Any]] = field(default_factory=list)
    requests: list[tuple[str, str, dict[str, str]]] = field(default_factory=list)
    _posts: list[Planned] = field(default_factory=list)
    _gets: list[Planned] = field(default_factory=list)
    _always: Planned | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def count(self, operation_id: str) -> int:
        """How many effects this operation has had."""
        return sum(effect["operation_id"] == operation_id for effect in self.effects)

    def looks(self) -> int:
        """How often somebody asked."""
        return sum(method == "GET" for method, _, _ in self.requests)

    def add(self, operation_id: str, **fields: Any) -> dict[str, Any]:
        """Make an effect without a request."""
        with self._lock:
            effect = {"operation_id": operation_id, "id": f"pay_{len(self.effects) + 1}", **fields}
            self.effects.append(effect)
            return effect

    def lose_answers(self, times: int = 1) -> None:
        """Let the next requests have their effect and cut the connection instead of answering."""
        self._posts += [Planned(lose=True)] * times

    def answer_late(self, seconds: float, times: int = 1) -> None:
        """Let the next requests have their effect and answer after a while."""
        self._posts += [Planned(delay=seconds)] * times

    def refuse(self, status: int, times: int = 1, **headers: str) -> None:
        """Refuse the next requests without an effect; a header is written `Retry_After="5"`."""
        pairs = tuple((name.replace("_", "-"), value) for name, value in headers.items())
        self._posts += [Planned(status, b'{"error": "refused"}', headers=pairs)] * times

    def answer_looks(self, *answers: Planned) -> None:
        """Give these answers to the next who ask."""
        self._gets += answers

    def always_answer(self, planned: Planned | None) -> None:
        """Give this answer to all who ask, until it is None."""
        self._always = planned

    def now(self) -> datetime:
        """The time by this system's own clock."""
        return datetime.now(UTC) + self.clock_ahead

    def _next(self, planned: list[Planned]) -> Planned | None:
        with self._lock:
            return planned.pop(0) if planned else None

    def receive(self, body: dict[str, Any], key: str | None) -> tuple[Planned | None, dict[str, Any]]:
        """Make the effect that a request asks for, or find the one that its key made before."""
        planned = self._next(self._posts)
        if planned and planned.status != 200:
            return planned, {}
        with self._lock:
            if self.honours_keys and key:
                for effect in self.effects:
                    if effect["key"] == key:
                        return planned, effect
            effect = {
                "id": f"pay_{len(self.effects) + 1}",
                "status": "succeeded",
                "operation_id": "",
                **body,
                "key": key,
            }
            self.effects.append(effect)
            return planned, effect

    def search(self, operation_id: str) -> tuple[Planned | None, dict[str, Any]]:
        """Find the effects of an operation as far as they are shown already."""
        planned = self._next(self._gets) or self._always
        found = [] if self.hidden else [one for one in self.effects if one["operation_id"] == operation_id]
        return planned, {"data": found, "as_of": (self.now() - self.view_age).isoformat()}


@contextmanager
def running(**behaviour: Any) -> Iterator[Destination]:
    """Run a destination in a thread and stop it at the end."""
    destination = Destination(**behaviour)
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(destination))
    server.daemon_threads = True
    destination.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield destination
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _handler(destination: Destination) -> Callable[..., BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            destination.requests.append(("GET", self.path, dict(self.headers)))
            asked = parse_qs(urlsplit(self.path).query).get("operation_id", [""])[0]
            self._answer(*destination.search(asked))

        def do_POST(self) -> None:
            destination.requests.append(("POST", self.path, dict(self.headers)))
            body = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))) or b"{}")
            self._answer(*destination.receive(body, self.headers.get("Idempotency-Key")))

        def _answer(self, planned: Planned | None, usual: dict[str, Any]) -> None:
            planned = planned or Planned()
            time.sleep(planned.delay)
            self.close_connection = True
            if planned.lose:
                return
            body = planned.body or json.dumps(usual).encode()
            self.send_response_only(planned.status)
            for name, value in (
                ("Date", format_datetime(destination.now(), usegmt=True)),
                ("Content-Type", planned.content_type),
                ("Content-Length", str(len(body))),
                ("Connection", "close"),
                *planned.headers,
            ):
                self.send_header(name, value)
            try:
                self.end_headers()
                self.wfile.write(body)
            except OSError:  # the other side has gone
                return

        def log_message(self, *_: object) -> None:
            """Stay silent: tests read what they need from the destination."""

    return Handler
