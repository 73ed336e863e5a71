"""Sessions: a signed cookie that names the person, when it began and when it was last used.

Signing in makes a new one. It ends after a time without use, after a whole working day in any case, and at once when
the person's `session_epoch` in the database is raised (sign out everywhere, new password, account disabled).
"""

import secrets
import time

from flask import Flask, g, session
from flask_login import AnonymousUserMixin, LoginManager, UserMixin, current_user, login_user

from dashboard.config import Settings
from dashboard.services.users import Person, find_person
from dashboard.web.context import read, settings

# The cookie is written again this often, not with every answer.
TOUCH_SECONDS = 20


class Visitor(UserMixin):  # type: ignore[misc]
    """A person as Flask-Login wants one."""

    def __init__(self, person: Person) -> None:
        self.person = person
        self.email = person.email

    def get_id(self) -> str:
        return str(self.person.id)


def install(app: Flask, settings: Settings) -> None:
    """Set up the cookie and who is loaded from it."""
    secure = settings.cookie_secure
    app.config.update(
        # __Host-: browsers take it only over HTTPS, from this very host and for all its paths.
        SESSION_COOKIE_NAME="__Host-session" if secure else "session",
        SESSION_COOKIE_SECURE=secure,
        SESSION_COOKIE_HTTPONLY=True,
        SESSION_COOKIE_SAMESITE="Lax",
        SESSION_COOKIE_PATH="/",
        SESSION_PROTECTION=None,
    )
    manager = LoginManager(app, add_context_processor=False)
    manager.user_loader(_load)


def begin(person: Person) -> None:
    """Start a new session for a person; nothing of the one before is kept."""
    session.clear()
    login_user(Visitor(person))
    now = int(time.time())
    session.update(sid=secrets.token_urlsafe(16), epoch=person.session_epoch, issued_at=now, seen_at=now)
    g.person = person


def renew(user_id: int) -> None:
    """Start a new session for the same person, whose epoch has been raised."""
    with read() as database_session:
        person = find_person(database_session, user_id=user_id)
    if person:
        begin(person)


def end() -> None:
    """Forget who was signed in."""
    session.clear()
    g.pop("person", None)


def current_person() -> Person | None:
    """Give who is signed in by this request's cookie, and note that the session was used.

    A session that has ended is cleared, and `g.session_ended` says so.
    """
    claimed = "_user_id" in session
    visitor = current_user._get_current_object()  # noqa: SLF001 - werkzeug's name for "what the proxy stands for"
    if isinstance(visitor, AnonymousUserMixin):
        if claimed:
            _keep_token_only()
            g.session_ended = True
        return None
    if time.time() - session["seen_at"] >= TOUCH_SECONDS:
        session["seen_at"] = int(time.time())
    found: Person = visitor.person
    return found


def _load(user_id: str) -> Visitor | None:
    if not user_id.isdecimal() or _is_over():
        return None
    with read() as database_session:
        person = find_person(database_session, user_id=int(user_id))
    if person is None or person.disabled_at or person.session_epoch != session.get("epoch"):
        return None
    return Visitor(person)


def _is_over() -> bool:
    issued, seen = session.get("issued_at"), session.get("seen_at")
    if not isinstance(issued, int) or not isinstance(seen, int):
        return True
    now = time.time()
    return now - seen > settings().session_idle_minutes * 60 or now - issued > settings().session_absolute_hours * 3600


def _keep_token_only() -> None:
    # The form that comes with an ended session still carries this token; a new one would fail the check for nothing.
    token = session.get("csrf_token")
    session.clear()
    if token:
        session["csrf_token"] = token
