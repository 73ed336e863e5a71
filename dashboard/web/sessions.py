"""Sessions at the edge: a signed cookie with the secret of a row in the database, which says whose it is.

Signing in makes a new one and ends the one before; signing out ends it on the server, for every copy of the cookie.
Before somebody signs in the cookie holds only the token of the forms.
"""

from datetime import timedelta

from flask import Flask, current_app, g, request, session
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Session

from dashboard.config import Settings
from dashboard.db import clock
from dashboard.services import sessions
from dashboard.services.sessions import Limits
from dashboard.services.users import Person, find_person
from dashboard.web.context import read, settings, write

SECRET = "sid"  # noqa: S105 - the name of an entry of the cookie
CSRF = "csrf_token"


def install(app: Flask, settings: Settings) -> None:
    """Set up the cookie."""
    secure = settings.cookie_secure
    app.config.update(
        # __Host-: browsers take it only over HTTPS, from this very host and for all its paths.
        SESSION_COOKIE_NAME="__Host-session" if secure else "session",
        SESSION_COOKIE_SECURE=secure,
        SESSION_COOKIE_HTTPONLY=True,
        SESSION_COOKIE_SAMESITE="Lax",
        SESSION_COOKIE_PATH="/",
    )


def limits() -> Limits:
    """Give how long a session lasts here."""
    chosen = settings()
    return Limits(timedelta(minutes=chosen.session_idle_minutes), timedelta(hours=chosen.session_absolute_hours))


def begin(person: Person) -> None:
    """Start a new session for a person; nothing of the one before is kept, here or on the server."""
    before, address, agent, lasting = _secret(), request.remote_addr, request.user_agent.string, limits()

    def replace(own: Session) -> str:
        if before:
            sessions.close_session(own, secret=before)
        return sessions.open_session(
            own, person=person, address=address, user_agent=agent, limits=lasting, now=clock(own)
        )

    session.clear()
    session[SECRET] = write(replace)
    g.person = person


def renew(user_id: int) -> None:
    """Start a new session for the same person, whose epoch has been raised."""
    with read() as own:
        person = find_person(own, user_id=user_id)
    if person:
        begin(person)


def end() -> None:
    """Forget who was signed in, and let nobody use a copy of the cookie."""
    secret = _secret()
    if secret:
        write(lambda own: sessions.close_session(own, secret=secret))
    session.clear()
    g.pop("person", None)
    g.pop("session_id", None)


def current_person() -> Person | None:
    """Give who is signed in by this request's cookie, and note at most once a minute that the session was used.

    A session that has ended is cleared, and `g.session_ended` says so.
    """
    secret = _secret()
    if secret is None:
        return None
    with read() as own:
        found = sessions.find_session(own, secret=secret, limits=limits())
    if found is None:
        _keep_token_only()
        g.session_ended = True
        return None
    g.session_id, g.let_in_at = found.id, found.at
    if found.stale:
        _touch(found.id)
    return found.person


def current_id() -> int:
    """Give the number of this request's session; only behind `requires` or `signed_in`."""
    found: int = g.session_id
    return found


def _secret() -> str | None:
    secret = session.get(SECRET)
    return secret if isinstance(secret, str) else None


def _touch(session_id: int) -> None:
    try:
        write(lambda own: sessions.touch(own, session_id=session_id, now=clock(own)))
    except SQLAlchemyError:
        # A page that can be shown is worth more than a precise time of last use.
        current_app.logger.warning("the use of a session was not written down", exc_info=True)


def _keep_token_only() -> None:
    # The form that comes with an ended session still carries this token; a new one would fail the check for nothing.
    token = session.get(CSRF)
    session.clear()
    if token:
        session[CSRF] = token
