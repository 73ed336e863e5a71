"""`/metrics`: figures for Prometheus. With a token for whoever has it, without one for this machine alone."""

from hmac import compare_digest
from ipaddress import IPv6Address, ip_address

from flask import Blueprint, Response, abort, request

from dashboard.db import clock
from dashboard.queries.metrics import standing_at
from dashboard.web.context import policies, public, read, settings
from dashboard.web.exposition import CONTENT_TYPE, exposition

blueprint = Blueprint("metrics", __name__)

# Whatever a proxy adds: its own address is then not the address of who asks.
FORWARDED = ("Forwarded", "Via", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Real-IP")


@blueprint.get("/metrics")
@public
def show() -> Response:
    """Answer with all figures as they are now."""
    wanted = settings()
    if not wanted.metrics:
        abort(404)
    token = wanted.metrics_token
    if token and not _has(token.get_secret_value()):
        refused = Response("Send the token of DASHBOARD_METRICS_TOKEN as a bearer token.\n", 401, mimetype="text/plain")
        refused.headers["WWW-Authenticate"] = "Bearer"
        return refused
    if not token and not _is_here():
        words = "Figures are for this machine alone, until DASHBOARD_METRICS_TOKEN is set.\n"
        return Response(words, 403, mimetype="text/plain")
    with read() as session:
        found = standing_at(session, now=clock(session))
    text = exposition(found, known_types=policies().types, most_types=wanted.metrics_types)
    return Response(text, content_type=CONTENT_TYPE)


def _has(token: str) -> bool:
    scheme, _, given = request.headers.get("Authorization", "").partition(" ")
    return scheme.lower() == "bearer" and compare_digest(given.strip().encode(), token.encode())


def _is_here() -> bool:
    """Whether the connection comes from this machine, and from no proxy on it."""
    if any(name in request.headers for name in FORWARDED):
        return False
    try:
        address = ip_address(request.remote_addr or "")
    except ValueError:
        return False
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return (mapped or address).is_loopback
