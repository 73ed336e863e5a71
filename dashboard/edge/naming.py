"""The id of a request: logs, audit entries and error answers name it, and the caller may give its own."""

import logging
import re
import time
from uuid import uuid4

from flask import Flask, Response, g, request

from dashboard.edge.context import give_back
from dashboard.logs import begin_request

REQUEST_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{7,63}", re.ASCII)
# Asked every few seconds by machines, and parts of a page.
UNTOLD = frozenset({"static", "health.alive", "health.ready", "metrics.show"})

log = logging.getLogger("dashboard.requests")


def install(app: Flask) -> None:
    """Name each request before anything else sees it, and log each answer."""
    app.before_request(name_request)
    app.after_request(_tell)
    app.teardown_appcontext(give_back)


def name_request() -> None:
    """Take the caller's id where it has the shape of one, else make one."""
    given = request.headers.get("X-Request-ID", "")
    g.request_id = given if REQUEST_ID.fullmatch(given) else uuid4().hex
    g.asked_at = time.monotonic()
    named = (request.view_args or {}).get("operation_id")
    begin_request(request_id=g.request_id, **({"operation_id": named} if named else {}))


def _tell(response: Response) -> Response:
    """The path without its query: people search for what is their customers'."""
    if request.endpoint not in UNTOLD and "asked_at" in g:
        fields = {"method": request.method, "path": request.path, "status": response.status_code}
        milliseconds = round((time.monotonic() - g.asked_at) * 1000, 1)
        log.info("answered", extra={**fields, "milliseconds": milliseconds, "actor": _who()})
    return response


def _who() -> str | None:
    actor = g.get("actor")
    return actor.id if actor else None
