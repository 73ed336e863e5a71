"""What stands outside the demo's shop: payments, a carrier and others, over HTTP on loopback and as bad as real ones.

    with running(honours={"payments"}) as outside:
        httpx.post(outside.url + "/payments/effects", json={"operation_id": "op-1", "type": "charge_order"})

`POST /<destination>/effects` makes an effect, and a second one when asked twice, unless the destination honours the
header `Idempotency-Key`. `GET /<destination>/effects?operation_id=...` shows those of an operation. How the first
request for an operation goes is written in `MOODS`; what is sent again goes well.
"""

import json
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from enum import Enum, auto
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import cycle
from random import Random
from typing import Any
from urllib.parse import parse_qs, urlsplit

from dashboard.cli.demo_shop.catalogue import remote_id

SHOWN_LATE_BY = timedelta(seconds=5)
LATE_SECONDS = 4.0
LATENCY_SECONDS = (0.05, 0.6)
LARGEST_BODY = 100_000

Effect = dict[str, Any]


class Mood(Enum):
    """How the first request for an operation goes."""

    WELL = auto()
    ANSWER_LOST = auto()
    ANSWER_LATE = auto()
    SHOWN_LATE = auto()
    NOTHING_DONE = auto()
    DONE_WRONG = auto()
    DONE_TWICE = auto()
    BUSY = auto()
    REFUSED = auto()


WELL, LOST, NOTHING = Mood.WELL, Mood.ANSWER_LOST, Mood.NOTHING_DONE
MOODS: Mapping[str, Sequence[Mood]] = {
    "charge_order": (LOST, WELL, NOTHING, WELL, WELL, Mood.ANSWER_LATE, WELL, WELL, Mood.BUSY, WELL, WELL),
    "create_shipment": (WELL, NOTHING, WELL, LOST, WELL, WELL, Mood.DONE_TWICE, WELL, Mood.SHOWN_LATE, WELL),
    "sync_customer": (WELL, Mood.BUSY, WELL, Mood.SHOWN_LATE, WELL, WELL, LOST, WELL, WELL),
    "issue_invoice": (WELL, Mood.DONE_WRONG, WELL, LOST, WELL, WELL, WELL, NOTHING, WELL, WELL, WELL),
    "send_notification": (WELL, WELL, WELL, LOST, WELL, WELL, WELL, WELL),
    "grant_credit": (WELL, WELL, Mood.REFUSED, WELL, WELL, WELL, WELL),
}


@dataclass(frozen=True)
class Given:
    """What is answered to a request; None instead of it where the connection is cut."""

    status: HTTPStatus
    body: Mapping[str, Any]
    headers: tuple[tuple[str, str], ...] = ()


@dataclass
class Outside:
    """All destinations of the shop and every effect they hold; `honours` are those that honour idempotency keys."""

    honours: Collection[str] = ()
    url: str = ""
    pause: Callable[[float], object] = time.sleep
    _effects: dict[tuple[str, str], list[Effect]] = field(default_factory=lambda: defaultdict(list))
    _by_key: dict[tuple[str, str], Effect] = field(default_factory=dict)
    _asked: set[str] = field(default_factory=set)
    _moods: dict[str, Iterator[Mood]] = field(
        default_factory=lambda: {name: cycle(all_) for name, all_ in MOODS.items()}
    )
    _random: Random = field(default_factory=Random)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def know(self, destination: str, operation_id: str, effects: Sequence[Effect], *, key: str | None) -> None:
        """Hold what happened before; the operation has been asked for already, so what comes goes well."""
        with self._lock:
            self._asked.add(operation_id)
            for effect in effects:
                self._keep(destination, operation_id, effect, key=key)

    def count(self, destination: str, operation_id: str) -> int:
        """How many effects of the operation there are."""
        return len(self._effects.get((destination, operation_id), ()))

    def make(self, destination: str, wanted: Effect, *, key: str | None) -> Given | None:
        """Do what a request asks for, as the mood of the moment is."""
        with self._lock:
            mood = self._mood(wanted)
            effect = self._do(destination, wanted, key=key, mood=mood)
        self.pause(LATE_SECONDS if mood is Mood.ANSWER_LATE else self._random.uniform(*LATENCY_SECONDS))
        match mood:
            case Mood.BUSY:
                return Given(HTTPStatus.TOO_MANY_REQUESTS, {"error": "too many requests"}, (("Retry-After", "4"),))
            case Mood.REFUSED:
                return Given(HTTPStatus.UNPROCESSABLE_ENTITY, {"error": "the account is closed"})
            case Mood.WELL | Mood.ANSWER_LATE if effect:
                return Given(HTTPStatus.CREATED, _shown(effect))
        return None

    def show(self, destination: str, operation_id: str) -> Given:
        """The effects of an operation as far as they are shown already."""
        now = datetime.now(UTC)
        with self._lock:
            found = self._effects.get((destination, operation_id), [])
            shown = [_shown(effect) for effect in found if effect.get("shown_at", now) <= now]
        return Given(HTTPStatus.OK, {"data": shown, "as_of": now.isoformat()})

    def _mood(self, wanted: Effect) -> Mood:
        asked_before = wanted["operation_id"] in self._asked
        self._asked.add(wanted["operation_id"])
        moods = self._moods.get(wanted["type"])
        return Mood.WELL if asked_before or moods is None else next(moods)

    def _do(self, destination: str, wanted: Effect, *, key: str | None, mood: Mood) -> Effect | None:
        if mood in {Mood.NOTHING_DONE, Mood.BUSY, Mood.REFUSED}:
            return None
        if destination in self.honours and key and (destination, key) in self._by_key:
            return self._by_key[destination, key]
        more = {"shown_at": datetime.now(UTC) + SHOWN_LATE_BY} if mood is Mood.SHOWN_LATE else {}
        wrong = _wrong(wanted) if mood is Mood.DONE_WRONG else {}
        effect: Effect = {}
        for _ in range(2 if mood is Mood.DONE_TWICE else 1):
            effect = {**wanted, "id": remote_id(self._random, destination), "status": "done", **more, **wrong}
            self._keep(destination, wanted["operation_id"], effect, key=key)
        return effect

    def _keep(self, destination: str, operation_id: str, effect: Effect, *, key: str | None) -> None:
        self._effects[destination, operation_id].append(effect)
        if key:
            self._by_key[destination, key] = effect


def _wrong(wanted: Effect) -> Effect:
    if "amount" not in wanted:
        return {"version": wanted.get("version", 1) - 1}
    amount = Decimal(wanted["amount"])
    return {"amount": str((amount * Decimal("1.21")).quantize(amount))}


def _shown(effect: Effect) -> Effect:
    return {name: value for name, value in effect.items() if name != "shown_at"}


@contextmanager
def running(*, honours: Collection[str]) -> Iterator[Outside]:
    """Answer on a free port of loopback until the block ends."""
    outside = Outside(honours)
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(outside))
    server.daemon_threads = True
    outside.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.1}, name="outside", daemon=True)
    thread.start()
    try:
        yield outside
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _handler(outside: Outside) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked = parse_qs(urlsplit(self.path).query).get("operation_id", [""])[0]
            self._answer(outside.show(self._destination(), asked))

        def do_POST(self) -> None:
            length = min(int(self.headers.get("Content-Length", 0)), LARGEST_BODY)
            wanted = json.loads(self.rfile.read(length))
            self._answer(outside.make(self._destination(), wanted, key=self.headers.get("Idempotency-Key")))

        def _destination(self) -> str:
            return self.path.split("/")[1]

        def _answer(self, given: Given | None) -> None:
            if given is None:
                return
            body = json.dumps(given.body).encode()
            try:
                self.send_response(given.status)
                for name, value in (("Content-Type", "application/json"), ("Content-Length", str(len(body)))):
                    self.send_header(name, value)
                for name, value in given.headers:
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)
            except OSError:  # whoever asked has gone
                return

        def log_message(self, *_: object) -> None:
            """Stay silent: the demo's terminal shows where to look."""

    return Handler
