"""The main navigation: the screens a person may open, in the order of the day's work."""

from collections.abc import Callable, Mapping
from datetime import datetime

from flask import Flask, current_app, request
from flask_babel import LazyString, lazy_gettext
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Session

from dashboard.db import clock
from dashboard.domain.permissions import Actor, Permission, holds, scopes
from dashboard.domain.states import ActorKind
from dashboard.queries import bulk
from dashboard.queries.figures import exceptions_waiting
from dashboard.queries.proposals import count_waiting
from dashboard.services.users import Person
from dashboard.web import context

ITEMS: tuple[tuple[str, LazyString, Permission], ...] = (
    ("/", lazy_gettext("Overview"), Permission.BROWSE),
    ("/exceptions", lazy_gettext("Exceptions"), Permission.BROWSE),
    ("/operations", lazy_gettext("Operations"), Permission.BROWSE),
    ("/actions", lazy_gettext("Actions"), Permission.BROWSE),
    ("/bulk", lazy_gettext("Plans"), Permission.BROWSE),
    ("/trends", lazy_gettext("Trends"), Permission.BROWSE),
    ("/idempotency", lazy_gettext("Idempotency"), Permission.BROWSE),
    ("/reconciliation", lazy_gettext("Reconciliation"), Permission.BROWSE),
    ("/outbox", lazy_gettext("Outbox"), Permission.BROWSE),
    ("/policies", lazy_gettext("Policies"), Permission.BROWSE),
    ("/audit", lazy_gettext("Audit"), Permission.AUDIT_OWN),
    ("/reports", lazy_gettext("Reports"), Permission.AUDIT_SCOPE),
    ("/admin/users", lazy_gettext("People"), Permission.ADMINISTER),
    ("/admin/tokens", lazy_gettext("Tokens"), Permission.ADMINISTER),
)


def install(app: Flask) -> None:
    """Remember which of the screens this application has."""
    rules = {rule.rule for rule in app.url_map.iter_rules()}
    app.extensions["dashboard.navigation"] = tuple(item for item in ITEMS if item[0] in rules)


def items() -> list[tuple[str, str, bool, int | None]]:
    """Give (address, label, is it this one, count) of each screen the person may open."""
    return [
        (request.script_root + path, str(label), _is_here(path), _count(path))
        for path, label, permission in current_app.extensions["dashboard.navigation"]
        if _may(context.person(), permission)
    ]


def home(person: Person | None = None) -> str:
    """Give the first screen the person may open; the account page where there is none."""
    who = person or context.person()
    for path, _, permission in current_app.extensions["dashboard.navigation"]:
        if _may(who, permission):
            return request.script_root + str(path)
    return request.script_root + "/account"


def _count(path: str) -> int | None:
    """How much waits there; nothing where nothing does, and where an error page must do without the database."""
    person = context.person()
    if path not in COUNTS or person is None:
        return None
    try:
        with context.read() as session:
            return COUNTS[path](session, person, clock(session)) or None
    except SQLAlchemyError:
        current_app.logger.warning("what waits at %s was not counted", path, exc_info=True)
        return None


def _exceptions(session: Session, person: Person, now: datetime) -> int:
    return exceptions_waiting(session, scopes=scopes(person.grants, Permission.BROWSE), now=now)


def _approvals(session: Session, person: Person, now: datetime) -> int:
    if not holds(person.grants, Permission.APPROVE):
        return 0
    return count_waiting(session, Actor(ActorKind.USER, person.email, person.grants), now=now)


def _plans(session: Session, person: Person, _now: datetime) -> int:
    return bulk.count_waiting(session, scopes=scopes(person.grants, Permission.APPROVE), person=person.email)


COUNTS: Mapping[str, Callable[[Session, Person, datetime], int]] = {
    "/exceptions": _exceptions,
    "/actions": _approvals,
    "/bulk": _plans,
}


def _may(person: Person | None, permission: Permission) -> bool:
    return person is not None and holds(person.grants, permission)


def _is_here(path: str) -> bool:
    return request.path == path or (path != "/" and request.path.startswith(f"{path}/"))
