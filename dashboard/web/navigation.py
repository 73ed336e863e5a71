"""The main navigation: the screens a person may open, in the order of the day's work."""

from collections.abc import Iterable, Mapping

from flask import Flask, current_app, request
from flask_babel import LazyString
from sqlalchemy.exc import SQLAlchemyError

from dashboard.domain.alerting import sight
from dashboard.domain.permissions import Permission, holds
from dashboard.queries.waiting import ALERTS_CAP, CAP, waiting
from dashboard.services.users import Person
from dashboard.web import context
from dashboard.web.language import lazy_gettext

ALERTS = "/alerts"
ITEMS: tuple[tuple[str, LazyString, Permission], ...] = (
    ("/", lazy_gettext("Overview"), Permission.BROWSE),
    (ALERTS, lazy_gettext("Alerts"), Permission.ALERTS),
    ("/exceptions", lazy_gettext("Exceptions"), Permission.BROWSE),
    ("/operations", lazy_gettext("Operations"), Permission.BROWSE),
    ("/actions", lazy_gettext("Actions"), Permission.BROWSE),
    ("/bulk", lazy_gettext("Plans"), Permission.BROWSE),
    ("/types", lazy_gettext("Types"), Permission.BROWSE),
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


def items() -> list[tuple[str, str, bool, str]]:
    """Give (address, label, is it this one, how much waits there) of each screen the person may open."""
    person = context.person()
    screens = [item for item in current_app.extensions["dashboard.navigation"] if _may(person, item[2])]
    counts = _counts() if screens else {}
    return [
        (request.script_root + path, str(label), _is_here(path), counts.get(path, "")) for path, label, _ in screens
    ]


def alarm(screens: Iterable[tuple[str, str, bool, str]]) -> tuple[str, str] | None:
    """Give where the alerts are and how many fire, for every page but theirs; None where none does."""
    path = request.script_root + ALERTS
    return next(((url, count) for url, _, is_here, count in screens if url == path and count and not is_here), None)


def home(person: Person | None = None) -> str:
    """Give the first screen the person may open; the account page where there is none."""
    who = person or context.person()
    for path, _, permission in current_app.extensions["dashboard.navigation"]:
        if _may(who, permission):
            return request.script_root + str(path)
    return request.script_root + "/account"


def _counts() -> Mapping[str, str]:
    """How much waits at an address; nothing where an error page must do without the database."""
    let_in_at = context.let_in_at()
    if let_in_at is None:
        return {}
    try:
        with context.read() as session:
            found = waiting(session, context.actor(), now=let_in_at)
    except SQLAlchemyError:
        current_app.logger.warning("what waits for a person was not counted", exc_info=True)
        return {}
    counts = {ALERTS: found.alerts, "/exceptions": found.exceptions, "/actions": found.proposals, "/bulk": found.plans}
    caps = {ALERTS: ALERTS_CAP}
    return {path: _capped(count, caps.get(path, CAP)) for path, count in counts.items() if count}


def _capped(count: int, cap: int) -> str:
    return f"{cap - 1}+" if count >= cap else str(count)


def _may(person: Person | None, permission: Permission) -> bool:
    if person is None or not holds(person.grants, permission):
        return False
    return permission is not Permission.ALERTS or not sight(person.grants).is_empty


def _is_here(path: str) -> bool:
    return request.path == path or (path != "/" and request.path.startswith(f"{path}/"))
