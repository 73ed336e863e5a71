"""An Alertmanager on loopback, as far as it takes alerts: it keeps what is posted and answers as it is told."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread
from typing import Any

from dashboard.domain.policy import Destination

Answer = int | tuple[int, dict[str, str]]


@dataclass
class AlertReceiver:
    """What was posted, in order, and of that what was taken."""

    url: str = ""
    answer: Callable[[], Answer] = lambda: 200
    posted: list[list[dict[str, Any]]] = field(default_factory=list)
    taken: list[list[dict[str, Any]]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    _lock: Lock = field(default_factory=Lock)

    def webhook(self, **values: Any) -> Destination:
        """The receiver of a policy that posts here."""
        return Destination("alerts", **{"base_url": self.url, "allow_private": True, **values})

    def take(self, body: bytes, headers: dict[str, str]) -> tuple[int, dict[str, str]]:
        """Note a request and decide the answer."""
        answer = self.answer()
        status, more = answer if isinstance(answer, tuple) else (answer, {})
        with self._lock:
            self.headers.append(headers)
            self.posted.append(json.loads(body))
            if status in range(200, 300):
                self.taken.append(self.posted[-1])
        return status, more


@contextmanager
def receiving_alerts() -> Iterator[AlertReceiver]:
    """Run one for the length of a block."""
    receiver = AlertReceiver()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            status, more = receiver.take(body, {name.lower(): value for name, value in self.headers.items()})
            self.send_response(status)
            for name, value in more.items():
                self.send_header(name, value)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    receiver.url = f"http://127.0.0.1:{server.server_address[1]}/api/v2/alerts"
    thread = Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield receiver
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
