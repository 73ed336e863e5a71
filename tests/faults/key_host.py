"""A host that takes idempotency keys, and a program that sends it many requests with one: `python -m ... REQUESTS`."""

import json
import os
import signal
import sys
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from typing import Any

from flask import Flask
from flask.testing import FlaskClient

from dashboard.db import Database
from dashboard.idempotency import Idempotency, RuleBook
from dashboard.idempotency.wsgi import protect
from tests.faults import host

ADDRESS = "/charges"
KEY = {"Idempotency-Key": "k-1"}
ORDER = {"order": "452", "amount": "318.93"}


def client(database: Database, *, rules: RuleBook | None = None) -> FlaskClient:
    """A client of the host: each charge is one line in its destination's file."""
    app = Flask("key_host")
    app.add_url_rule(ADDRESS, "charge", charge, methods=["POST"])
    app.wsgi_app = protect(  # type: ignore[method-assign, assignment]
        app.wsgi_app,
        Idempotency(database, b"of a test", rules or RuleBook()),
        operation=lambda _environ: "charge_order",
        tenant=lambda _environ: "shop",
        authorise=lambda _environ: True,
    )
    if os.environ.get("BEHAVIOUR") == "die before the answer":
        app.wsgi_app = dies_before_its_answer(app.wsgi_app)  # type: ignore[method-assign]
    return app.test_client()


def charge() -> Any:
    """Make the effect, and go wrong as the environment says."""
    behaviour = os.environ.get("BEHAVIOUR", "")
    if behaviour == "die before":
        os.kill(os.getpid(), signal.SIGKILL)
    with Path(os.environ["EFFECTS"]).open("a", encoding="utf-8") as file:
        file.write("k-1\n")
    if behaviour == "die after":
        os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(float(os.environ.get("SECONDS", "0")))
    return {"charge": f"ch_{len(host.effects())}", "by": os.getpid()}, 201


def dies_before_its_answer(app: Any) -> Any:
    """Kill the process when the first byte is about to leave."""

    def killed(environ: dict[str, Any], _start: Callable[..., Any]) -> Iterable[bytes]:
        return app(environ, lambda *_answer: os.kill(os.getpid(), signal.SIGKILL))  # type: ignore[no-any-return]

    return killed


def main(requests: int) -> None:
    """Send so many requests at once and print the status and body of each."""
    database = Database(os.environ["DASHBOARD_DATABASE_URL"])
    together = Barrier(requests)
    sender = client(database)

    def send(_number: int) -> tuple[int, str]:
        together.wait()
        answer = sender.application.test_client().post(ADDRESS, json=ORDER, headers=KEY)
        return answer.status_code, answer.text

    with ThreadPoolExecutor(requests) as pool:
        print(json.dumps(list(pool.map(send, range(requests)))))  # noqa: T201 - the parent reads it
    database.dispose()


if __name__ == "__main__":
    main(int(sys.argv[1]))
