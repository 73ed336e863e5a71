"""WSGI middleware: any WSGI application gets idempotency keys without knowing of them.

The body is read before the application is called, up to the limit of the rules, and handed on rewound. The answer is
kept before its first byte is sent. An answer larger than the limit streams through; its outcome is kept without it.
"""

import tempfile
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import ExitStack
from http import HTTPStatus
from itertools import chain
from typing import IO, TYPE_CHECKING, Any, cast

from werkzeug.exceptions import ClientDisconnected, RequestEntityTooLarge
from werkzeug.wsgi import get_content_length, get_input_stream

from dashboard.domain.fingerprint import PayloadError
from dashboard.domain.reservations import Answer, Header
from dashboard.idempotency.content import CHUNK, Content, Said, content_of
from dashboard.idempotency.door import Idempotency
from dashboard.idempotency.exchange import (
    Asked,
    Execution,
    admit,
    conclude,
    default_location,
    expiry,
    interrupted,
    kept_answer,
    running,
)
from dashboard.idempotency.rules import MEBIBYTE, Rules
from dashboard.idempotency.streams import Streamed, close, gather, limit_of
from dashboard.services.reservations import Request

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

METHODS = frozenset({"POST", "PATCH"})


def protect(
    app: "WSGIApplication",
    door: Idempotency,
    *,
    operation: "Callable[[WSGIEnvironment], str | None]",
    tenant: "Callable[[WSGIEnvironment], str]",
    authorise: "Callable[[WSGIEnvironment], bool]",
    methods: Collection[str] = METHODS,
    location: Callable[[Request], str] = default_location,
) -> "WSGIApplication":
    """Wrap an application.

    `operation` names what a request wants, None where it needs no key. `authorise` says on every request whether the
    caller may have its answer: this stands before the application's own sign-in. `location` is where to ask again.
    """

    def protected(environ: "WSGIEnvironment", start_response: "StartResponse") -> Iterable[bytes]:
        name = operation(environ) if environ["REQUEST_METHOD"] in methods else None
        if name is None or not (door.rules.of(name).required or "HTTP_IDEMPOTENCY_KEY" in environ):
            return app(environ, start_response)
        ending = ExitStack()
        asked = Asked(
            tenant=tenant(environ),
            operation=name,
            key=environ.get("HTTP_IDEMPOTENCY_KEY"),
            prefer=environ.get("HTTP_PREFER"),
            content=lambda rules, secret: _content(environ, ending, rules=rules, secret=secret),
            authorised=lambda: authorise(environ),
            location=location,
            correlation_id=environ.get("HTTP_X_REQUEST_ID"),
        )
        found = admit(door, asked)
        if isinstance(found, Execution):
            return _run(app, environ, start_response, found, ending)
        ending.close()
        return send(found, start_response)

    return protected


def send(answer: Answer, start_response: "StartResponse") -> list[bytes]:
    """Send an answer of ours, or one that was kept; its length is counted anew."""
    start_response(_status_line(answer.status), [*answer.headers, ("Content-Length", str(len(answer.body)))])
    return [answer.body]


def target_of(environ: "WSGIEnvironment") -> tuple[str, str, str]:
    """What a request is addressed to: method, path and query."""
    path = environ.get("SCRIPT_NAME", "") + environ.get("PATH_INFO", "")
    return environ["REQUEST_METHOD"], path, environ.get("QUERY_STRING", "")


def _content(environ: "WSGIEnvironment", ending: ExitStack, *, rules: Rules, secret: bytes) -> Content:
    body, length = _read_body(environ, ending, limit=rules.max_body)
    said = Said(
        target=target_of(environ),
        content_type=environ.get("CONTENT_TYPE", ""),
        encoding=environ.get("HTTP_CONTENT_ENCODING", ""),
        body=body,
        length=length,
    )
    content = content_of(said, rules=rules, secret=secret)
    environ["wsgi.input"], environ["wsgi.input_terminated"] = body, True
    environ["CONTENT_LENGTH"] = str(length)
    environ.pop("HTTP_TRANSFER_ENCODING", None)
    return content


def _read_body(environ: "WSGIEnvironment", ending: ExitStack, *, limit: int) -> tuple[IO[bytes], int]:
    """Read all of the body, to memory while it is small; PayloadError where it is too large, cut or of no known end."""
    unbounded = get_content_length(environ) is None and "wsgi.input_terminated" not in environ
    if unbounded and environ.get("HTTP_TRANSFER_ENCODING"):
        raise PayloadError("payload_length_unknown")
    spooled = tempfile.SpooledTemporaryFile(max_size=MEBIBYTE)  # noqa: SIM115 - it is read until the answer ends
    kept = cast("IO[bytes]", ending.enter_context(spooled))
    length = 0
    try:
        stream = get_input_stream(environ, max_content_length=limit)
        while chunk := stream.read(CHUNK):
            kept.write(chunk)
            length += len(chunk)
    except RequestEntityTooLarge as error:
        raise PayloadError("payload_too_large") from error
    except (ClientDisconnected, OSError) as error:
        raise PayloadError("payload_incomplete") from error
    if (get_content_length(environ) or length) != length:
        raise PayloadError("payload_incomplete")
    return kept, length


class _Started:
    """What the application said with `start_response`, and what it wrote by the old way, held back."""

    def __init__(self) -> None:
        self.status = 0
        self.line = ""
        self.headers: list[Header] = []
        self.written: list[bytes] = []

    def __call__(self, status: str, headers: list[Header], exc_info: Any = None) -> Callable[[bytes], object]:
        if self.line and exc_info is None:
            raise AssertionError("start_response was called twice")
        self.line, self.headers, self.status = status, list(headers), int(status.split(" ", 1)[0])
        return self.written.append


def _run(
    app: "WSGIApplication",
    environ: "WSGIEnvironment",
    start_response: "StartResponse",
    execution: Execution,
    ending: ExitStack,
) -> Iterable[bytes]:
    started = _Started()
    try:
        with running(execution):
            source = app(environ, started)
            ending.callback(close, source)
            rest = chain(started.written, source)
            chunks, whole = gather(rest, limit=limit_of(source, execution.rules.max_answer))
            if whole:
                # What an application does at the end of its answer, such as a commit, is part of the work.
                ending.close()
    except BaseException:
        interrupted(execution)
        ending.close()
        raise
    if not whole:
        start_response(started.line, started.headers)
        return _streamed(chunks, rest, ending, execution, started.status)
    body = b"".join(chunks)
    answer = kept_answer(execution, status=started.status, headers=started.headers, body=body)
    conclude(execution, answer, status=started.status)
    start_response(started.line, [*started.headers, *expiry(execution, started.status)])
    return [body]


def _streamed(
    chunks: list[bytes], rest: Iterator[bytes], source: object, execution: Execution, status: int
) -> Streamed:
    return Streamed(
        chunks,
        rest,
        source=source,
        whole=lambda: conclude(execution, None, status=status),
        broken=lambda: interrupted(execution),
    )


def _status_line(status: int) -> str:
    try:
        return f"{status} {HTTPStatus(status).phrase}"
    except ValueError:
        return f"{status} Stored"
