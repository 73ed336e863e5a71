"""Forms of actions as a browser sends them: opened, filled in, posted."""

from typing import Any

from sqlalchemy import func, select
from werkzeug.test import TestResponse

from dashboard.db import Database, reading, transact
from dashboard.domain.permissions import Grant, Role
from dashboard.models import Action, AuditEntry, Operation, OperationEvent
from tests import factories
from tests.web.client import PageClient, fields, parse

EVIDENCE = {"reason_code": "effect_absent", "note": factories.NOTE, "reference": "ticket 4471"}
OPERATOR = Grant(Role.OPERATOR)
MANAGER = Grant(Role.MANAGER)
SUPPORT = Grant(Role.SUPPORT)


def add(database: Database, **values: Any) -> str:
    """Add an operation in review, its effect proven absent, unless told otherwise, and give its id."""
    given = {**factories.proven_absent(), **values}
    return transact(database, lambda session: factories.operation(session, **given).operation_id)


def form_of(page: str) -> dict[str, str]:
    """The hidden fields of the one form of the page that posts to an operation."""
    forms = [form for form in parse(page).iter("form") if (form.get("action") or "").startswith("/operations/")]
    assert len(forms) == 1
    return {
        name: value for name, value in fields(forms[0]).items() if name in {"csrf_token", "idempotency_key", "revision"}
    }


def open_form(browser: PageClient, operation_id: str, action: str = "requeue") -> dict[str, str]:
    """The hidden fields of a preview."""
    answer = browser.get(f"/operations/{operation_id}/{action}")
    assert answer.status_code == 200, answer.status
    return form_of(answer.text)


def ask(browser: PageClient, operation_id: str, action: str = "requeue", **typed: str) -> TestResponse:
    """Open the preview, fill the form in and send it."""
    hidden = open_form(browser, operation_id, action)
    return browser.post(f"/operations/{operation_id}/{action}", data=hidden | EVIDENCE | typed)


def row_of(database: Database, operation_id: str) -> Operation:
    """The operation as it is stored."""
    with reading(database) as session:
        return session.scalars(select(Operation).where(Operation.operation_id == operation_id)).one()


def stored(database: Database) -> dict[str, int]:
    """How many events, actions and audit entries of repairs and notes there are."""
    with reading(database) as session:
        entries = select(func.count()).where(
            AuditEntry.action.in_(("note", "requeue", "close", "confirm", "compensate"))
        )
        return {
            "events": session.scalar(select(func.count()).select_from(OperationEvent)) or 0,
            "actions": session.scalar(select(func.count()).select_from(Action)) or 0,
            "done": session.scalar(entries.where(AuditEntry.outcome == "done")) or 0,
            "refused": session.scalar(entries.where(AuditEntry.outcome == "refused")) or 0,
        }
