"""A decorator for views of Flask.

```python
@app.post("/orders/<int:number>/charge")
@idempotent(door, "charge_order", tenant=lambda: g.shop)
def charge(number): ...
```
"""

import hashlib
from collections.abc import Callable, Iterator
from functools import wraps
from io import BytesIO
from typing import Any, ParamSpec

from flask import Response, current_app, make_response, request
from flask.typing import ResponseReturnValue
from sqlalchemy.orm import Session
from werkzeug.exceptions import ClientDisconnected, RequestEntityTooLarge

from dashboard.domain.errors import LostRaceError
from dashboard.domain.fingerprint import PayloadError
from dashboard.domain.key_syntax import HEADER
from dashboard.domain.reservations import Answer
from dashboard.idempotency.answers import unavailable
from dashboard.idempotency.content import Content, Said, content_from, content_of, digest_of, form_payload, part_payload
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
from dashboard.idempotency.rules import Rules
from dashboard.idempotency.streams import Streamed, close, gather, limit_of
from dashboard.idempotency.wsgi import target_of
from dashboard.services.reservations import Request

P = ParamSpec("P")
View = Callable[P, ResponseReturnValue]
BAD = 400
FAULT = 500
FORMS = ("multipart/form-data", "application/x-www-form-urlencoded")


def _everybody() -> bool:
    return True


def idempotent(
    door: Idempotency,
    operation: str,
    *,
    tenant: Callable[[], str],
    authorise: Callable[[], bool] = _everybody,
    session: Callable[[], Session] | None = None,
    location: Callable[[Request], str] = default_location,
) -> Callable[[View[P]], View[P]]:
    """Run a view once for each key, and answer repeats with what it answered.

    Put it below the decorators that sign people in, or give `authorise`, which is asked on every request. With
    `session` the reservation, the view's changes and the outcome are one commit of that session, made here and not by
    the view; that is for work without an effect outside.
    """

    def decorate(view: View[P]) -> View[P]:
        @wraps(view)
        def protected(*args: P.args, **values: P.kwargs) -> ResponseReturnValue:
            rules = door.rules.of(operation)
            if not rules.required and HEADER not in request.headers:
                return view(*args, **values)
            held = session() if session else None
            found = admit(door.within(held) if held else door, _asked(operation, tenant, authorise, location))
            if isinstance(found, Execution):
                return _run(lambda: view(*args, **values), found, held)
            if held is not None:
                _keep_count(held, found)
            return respond(found)

        return protected

    return decorate


def respond(answer: Answer) -> Response:
    """An answer of ours, or one that was kept, as Flask sends it."""
    response = current_app.response_class(answer.body, status=answer.status)
    del response.headers["Content-Type"]
    response.headers.extend(answer.headers)
    return response


def _asked(
    operation: str, tenant: Callable[[], str], authorise: Callable[[], bool], location: Callable[[Request], str]
) -> Asked:
    return Asked(
        tenant=tenant(),
        operation=operation,
        key=request.headers.get(HEADER),
        prefer=request.headers.get("Prefer"),
        content=_content,
        authorised=authorise,
        location=location,
        correlation_id=request.headers.get("X-Request-Id"),
    )


def _run(view: Callable[[], ResponseReturnValue], execution: Execution, held: Session | None) -> Response:
    try:
        with running(execution):
            response = _respond(view)
            response.direct_passthrough = False
            source, rest = response.response, iter(response.iter_encoded())
            chunks, whole = gather(rest, limit=limit_of(source, execution.rules.max_answer))
            if whole:
                close(source)
    except BaseException:
        _give_up(execution, held)
        raise
    if not whole and held is None:
        response.response = _streamed(chunks, rest, source, execution, response.status_code)
        return response
    response.set_data(b"".join((*chunks, *rest)))
    return _end(execution, response, held)


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


def _end(execution: Execution, response: Response, held: Session | None) -> Response:
    status, headers = response.status_code, list(response.headers.items())
    answer = kept_answer(execution, status=status, headers=headers, body=response.get_data())
    if held is not None and status >= BAD:
        held.rollback()
        return response
    try:
        conclude(execution, answer, status=status)
        if held is not None:
            held.commit()
    except LostRaceError:
        # Somebody took this local work over: ours goes with its transaction, and theirs is the answer.
        _give_up(execution, held)
        return respond(unavailable())
    response.headers.extend(expiry(execution, status))
    return response


def _respond(view: Callable[[], ResponseReturnValue]) -> Response:
    """The view's answer, or that of the handler for the error it raised; an error nobody handles goes on."""
    try:
        return make_response(view())
    except Exception as error:  # noqa: BLE001 - Flask raises what it has no handler for again
        return make_response(current_app.handle_user_exception(error))


def _keep_count(held: Session, answer: Answer) -> None:
    """A replay or a conflict was counted in the host's transaction; a fault left nothing to keep."""
    if answer.status >= FAULT:
        held.rollback()
    else:
        held.commit()


def _give_up(execution: Execution, held: Session | None) -> None:
    if held is None:
        interrupted(execution)
    else:
        held.rollback()


def _content(rules: Rules, secret: bytes) -> Content:
    target = target_of(request.environ)
    if request.mimetype in FORMS and "form" in vars(request):
        # Somebody, such as a CSRF check, read the form already, and the stream is empty.
        kind, payload = _read_before()
        return content_from(target, kind=kind, payload=payload, rules=rules, secret=secret)
    body = _body(rules.max_body)
    encoding = request.headers.get("Content-Encoding", "")
    said = Said(target, request.headers.get("Content-Type", ""), encoding, BytesIO(body), len(body))
    return content_of(said, rules=rules, secret=secret)


def _body(limit: int) -> bytes:
    length = request.content_length
    if length is None and "Transfer-Encoding" in request.headers and "wsgi.input_terminated" not in request.environ:
        raise PayloadError("payload_length_unknown")
    # One byte more than is taken: a body of unknown length is cut there without a word.
    most = min(request.max_content_length or limit + 1, limit + 1)
    request.max_content_length = most
    try:
        body = request.get_data(cache=True)
    except RequestEntityTooLarge as error:
        raise PayloadError("payload_too_large") from error
    except (ClientDisconnected, OSError) as error:
        raise PayloadError("payload_incomplete") from error
    if len(body) > limit or (length is None and len(body) >= most):
        raise PayloadError("payload_too_large")
    if (length or len(body)) != len(body):
        # Cut off, or read by somebody who kept it: what was asked for cannot be told.
        raise PayloadError("payload_incomplete")
    return body


def _read_before() -> tuple[str, object]:
    if request.mimetype == "application/x-www-form-urlencoded":
        return "form", form_payload(list(request.form.items(multi=True)))
    parts: list[tuple[str, Any]] = [
        (name, part_payload(filename=None, content_type=None, digest=hashlib.sha256(value.encode()).hexdigest()))
        for name, value in request.form.items(multi=True)
    ]
    for name, file in request.files.items(multi=True):
        digest = digest_of(file.stream)
        file.stream.seek(0)
        parts.append((name, part_payload(filename=file.filename, content_type=file.content_type, digest=digest)))
    return "multipart", form_payload(parts)
