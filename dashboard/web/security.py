"""The gate every request passes, and the headers every answer carries.

1. The request gets an id, which logs, audit entries and error pages name.
2. Who asks is read from the session.
3. A request that changes something must carry the token of its session.
4. The view's mark is checked: public, signed in, or a permission. Who lacks it and wanted to change something is
   written to the audit log.
"""

from flask import Flask, Response, current_app, g, redirect, request, url_for
from flask.typing import ResponseReturnValue
from flask_wtf.csrf import CSRFProtect

from dashboard.config import Settings
from dashboard.domain.permissions import Actor, Permission, holds
from dashboard.domain.states import ActorKind
from dashboard.edge import naming
from dashboard.edge.refusing import refusal
from dashboard.services.users import Person
from dashboard.web import kept, sessions
from dashboard.web.context import PUBLIC, access_of, public, wants_part
from dashboard.web.login import sign_in_page

MAX_BODY = 256 * 1024
FOR_EVER = "public, max-age=31536000, immutable"
# Asked by machines that never sign in; a receipt is let in by the signature of its sender instead.
WITHOUT_SESSION = frozenset({"static", "health.alive", "health.ready", "metrics.show", "receipts.take"})

HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; font-src 'self'; "
        "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    # The address of a page can name an operation: other sites never learn it.
    "Referrer-Policy": "same-origin",
    "Permissions-Policy": "camera=(), display-capture=(), geolocation=(), microphone=(), payment=(), usb=()",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
ONLY_HTTPS = "max-age=31536000"
# What opens with a password that somebody else knows: only what replaces it, and the way out.
WITH_INITIAL_PASSWORD = frozenset({"account.show", "account.change_password", "login.leave"})

csrf = CSRFProtect()


def install(app: Flask, settings: Settings) -> None:
    """Put the gate before every view and the headers on every answer."""
    app.config.update(
        MAX_CONTENT_LENGTH=MAX_BODY,
        WTF_CSRF_CHECK_DEFAULT=False,  # the gate does it, after it knows who asks
        WTF_CSRF_TIME_LIMIT=None,  # a token lives as long as its session
        WTF_CSRF_SSL_STRICT=False,  # the __Host- cookie keeps others from planting a session
    )
    sessions.install(app, settings)
    csrf.init_app(app)
    app.view_functions["static"] = public(app.view_functions["static"])
    naming.install(app)
    app.before_request(_gate)
    app.after_request(_cache)
    app.after_request(_harden)
    if settings.cookie_secure:
        app.after_request(_only_https)


def _gate() -> ResponseReturnValue | None:
    if request.endpoint in WITHOUT_SESSION:
        return None
    person = sessions.current_person()
    if person:
        _let_in(person)
    if request.endpoint is None:
        return None  # answered with "no such page"
    access = access_of(current_app.view_functions[request.endpoint])
    if access != PUBLIC and person is None:
        return _ask_to_sign_in()
    csrf.protect()
    if person and person.password_initial and access != PUBLIC and request.endpoint not in WITH_INITIAL_PASSWORD:
        return redirect(url_for("account.show"), 303)
    if isinstance(access, Permission) and not holds(g.actor.grants, access):
        raise refusal(access)
    return None


def _let_in(person: Person) -> None:
    g.person = person
    g.actor = Actor(
        ActorKind.USER,
        person.email,
        grants=person.grants,
        address=request.remote_addr,
        request_id=g.request_id,
    )


def _ask_to_sign_in() -> ResponseReturnValue:
    if wants_part():
        # A redirect would land inside the part that asked.
        return "", 401, {"HX-Redirect": _login_url(kept.page_of_part())}
    if request.method in {"GET", "HEAD"}:
        return redirect(_login_url(kept.this_page()))
    return sign_in_page(kept.from_form(), status=401)


def _login_url(path: str) -> str:
    return url_for("login.form", next=path, ended=1 if g.get("session_ended") else None)


def _harden(response: Response) -> Response:
    for name, value in HEADERS.items():
        response.headers[name] = value
    if "request_id" in g:
        response.headers["X-Request-ID"] = g.request_id
    return response


def _only_https(response: Response) -> Response:
    response.headers["Strict-Transport-Security"] = ONLY_HTTPS
    return response


def _cache(response: Response) -> Response:
    if request.endpoint != "static" or response.status_code not in {200, 304}:
        response.headers["Cache-Control"] = "no-store"
        response.vary.add("HX-Request")
    elif "v" in request.args or request.path.startswith("/static/vendor/"):
        response.headers["Cache-Control"] = FOR_EVER
    return response
