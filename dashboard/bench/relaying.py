"""How fast a relay publishes to a webhook on loopback, and whether any message came twice or not at all."""

import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Lock, Thread

from sqlalchemy import func, select

from dashboard.bench import processes
from dashboard.bench.scratch import SINK, Progress
from dashboard.db import Database, reading
from dashboard.domain.messages import MessageState
from dashboard.models import OutboxMessage

LOOK_SECONDS = 0.2
SECRET_ENV = "OPERATIONS_BENCH_SECRET"  # noqa: S105 - the name of a variable
SECRET = "whsec_b2YgYSBiZW5jaG1hcms="  # noqa: S105 - of a receiver that lives as long as the benchmark


@dataclass(frozen=True)
class Relayed:
    """What came of it: `took` is from the first request at the receiver to the last."""

    messages: int
    took: timedelta
    twice: int
    lost: int
    said: str


@dataclass
class Receiver:
    """What came, by message id, and when the first and the last did."""

    url: str = ""
    came: Counter[str] = field(default_factory=Counter)
    first: float = 0.0
    last: float = 0.0
    lock: Lock = field(default_factory=Lock)

    def take(self, message_id: str) -> None:
        with self.lock:
            self.last = time.monotonic()
            self.first = self.first or self.last
            self.came[message_id] += 1


def relay(database: Database, *, url: str, messages: int, after: int, lanes: int, progress: Progress) -> Relayed:
    """Let a relay process publish the messages that are numbered after this one, and count each."""
    with tempfile.TemporaryDirectory(prefix="operations-bench-") as name, _receiver() as receiver:
        folder = Path(name)
        policies = folder / "policies.toml"
        policies.write_text(
            f'[sinks.{SINK}]\nkind = "webhook"\nurl = "{receiver.url}"\nallow_private = true\n'
            f'secret = {{ env = "{SECRET_ENV}" }}\n'
        )
        settings = {"DASHBOARD_POLICIES": str(policies), SECRET_ENV: SECRET}
        command = ("relay", "--once", "--lanes", str(lanes))
        with processes.running(command, url=url, folder=folder, environment=settings) as (process,):
            while process.poll() is None:
                time.sleep(LOOK_SECONDS)
                progress(receiver.came.total())
        said = processes.last_words(folder)
    with reading(database) as session:
        published = session.scalar(
            select(func.count()).where(OutboxMessage.id > after, OutboxMessage.state == MessageState.PUBLISHED.value)
        )
    return Relayed(
        messages=messages,
        took=timedelta(seconds=receiver.last - receiver.first),
        twice=sum(times > 1 for times in receiver.came.values()),
        lost=messages - min(published or 0, len(receiver.came)),
        said=said,
    )


@contextmanager
def _receiver() -> Iterator[Receiver]:
    """Answer 204 to everything on a loopback port for the length of a block."""
    receiver = Receiver()
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(receiver))
    server.daemon_threads = True
    receiver.url = f"http://127.0.0.1:{server.server_address[1]}/"
    thread = Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield receiver
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _handler(receiver: Receiver) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            receiver.take(self.headers["webhook-id"])
            self.send_response_only(204)
            self.end_headers()

        def log_message(self, *_args: object) -> None:
            pass

    return Handler
