"""The id of a request: logs, audit entries and error answers name it, and the caller may give its own."""

import re
from uuid import uuid4

from flask import g, request

REQUEST_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{7,63}", re.ASCII)


def name_request() -> None:
    """Take the caller's id where it has the shape of one, else make one."""
    given = request.headers.get("X-Request-ID", "")
    g.request_id = given if REQUEST_ID.fullmatch(given) else uuid4().hex
