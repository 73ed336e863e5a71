"""The gate of the API: a bearer token alone tells who calls, and the view's mark what it must be able to do."""

from flask import Flask, Response, current_app, g, request

from dashboard.api.problems import TokenMissingError
from dashboard.db import clock
from dashboard.domain.permissions import Permission, holds
from dashboard.edge import naming
from dashboard.edge.context import PUBLIC, access_of, read, request_id, write
from dashboard.edge.refusing import refusal
from dashboard.services import tokens
from dashboard.services.tokens import Caller

MAX_BODY = 2 * 1024 * 1024
HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "same-origin",
    "Vary": "Authorization",
    "X-Content-Type-Options": "nosniff",
}


def install(app: Flask) -> None:
    """Put the gate before every view and the headers on every answer."""
    app.config["MAX_CONTENT_LENGTH"] = MAX_BODY
    naming.install(app)
    app.before_request(_gate)
    app.after_request(_harden)


def caller() -> Caller:
    """Give who calls; only behind `requires`."""
    found: Caller = g.caller
    return found


def _gate() -> None:
    if request.endpoint is None:
        return  # answered with "not found"
    access = access_of(current_app.view_functions[request.endpoint])
    if access == PUBLIC:
        return
    g.caller = _authenticated(request.headers.get("Authorization", ""))
    g.actor = g.caller.actor
    if isinstance(access, Permission) and not holds(g.actor.grants, access):
        raise refusal(access)


def _authenticated(header: str) -> Caller:
    scheme, _, secret = header.partition(" ")
    if scheme.lower() != "bearer" or not secret:
        raise TokenMissingError
    with read() as session:
        now = clock(session)
        found = tokens.authenticate(
            session, secret=secret.strip(), now=now, address=request.remote_addr, request_id=request_id()
        )
    if found.unnoted:
        write(lambda session: tokens.note_use(session, number=found.number, now=now))
    return found


def _harden(response: Response) -> Response:
    for name, value in HEADERS.items():
        response.headers[name] = value
    if "request_id" in g:
        response.headers["X-Request-ID"] = g.request_id
    return response
