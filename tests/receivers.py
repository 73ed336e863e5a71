"""A webhook receiver on loopback: it counts what it takes, checks each signature, and answers as it is told."""

import json
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread
from typing import Any

from standardwebhooks import Webhook

from dashboard.domain.policy import Sink

SECRET = "whsec_" + "c2VjcmV0IG9mIHRoZSB0ZXN0cyE="
SECRET_ENV = "TESTS_WEBHOOK_SECRET"


@dataclass(frozen=True)
class Delivery:
    """One request: the message's id, its event and its headers."""

    message_id: str
    event: dict[str, Any]
    headers: dict[str, str]


@dataclass
class Receiver:
    """What came, in order; `answer` decides the status of each, and may do worse."""

    url: str = ""
    answer: Callable[[Delivery], int | tuple[int, dict[str, str]]] = lambda _delivery: 204
    deliveries: list[Delivery] = field(default_factory=list)
    taken: list[str] = field(default_factory=list)
    _lock: Lock = field(default_factory=Lock)

    @property
    def times(self) -> Counter[str]:
        """How often each message was taken."""
        return Counter(self.taken)

    def places(self, key: str | None = None) -> list[int]:
        """The payloads' `n` of all that came, or of one key, in order."""
        events = [delivery.event for delivery in self.deliveries]
        return [event["data"]["n"] for event in events if key in (None, event["subject"])]

    def sink(self, name: str = "hook", **settings: Any) -> Sink:
        """The sink that posts here."""
        given = {"url": self.url, "secret_env": SECRET_ENV, "allow_private": True, "max_claims": 3, **settings}
        return Sink(name, "webhook", given)

    def policy(self, name: str = "hook", *, max_claims: int = 3) -> str:
        """The policy file that names it."""
        return (
            f'[sinks.{name}]\nkind = "webhook"\nurl = "{self.url}"\nsecret = {{ env = "{SECRET_ENV}" }}\n'
            f"allow_private = true\nmax_claims = {max_claims}\n"
        )

    def take(self, delivery: Delivery) -> tuple[int, dict[str, str]]:
        """Note a request and decide the answer."""
        with self._lock:
            self.deliveries.append(delivery)
        answer = self.answer(delivery)
        status, headers = answer if isinstance(answer, tuple) else (answer, {})
        if status in range(200, 300):
            with self._lock:
                self.taken.append(delivery.message_id)
        return status, headers


@contextmanager
def webhook_receiver() -> Iterator[Receiver]:
    """Start a receiver for the length of a block."""
    receiver = Receiver()
    server = _Server(("127.0.0.1", 0), _handler(receiver))
    receiver.url = f"http://127.0.0.1:{server.server_address[1]}/hook"
    thread = Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield receiver
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *request: Any) -> None:
        # A relay that is killed leaves its connection open.
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(*request)


def _handler(receiver: Receiver) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            headers = {name.lower(): value for name, value in self.headers.items()}
            Webhook(SECRET).verify(body, headers, json_parse=False)
            status, extra = receiver.take(Delivery(headers["webhook-id"], json.loads(body), headers))
            self.send_response(status)
            for name, value in extra.items():
                self.send_header(name, value)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_args: object) -> None:
            pass

    return Handler
