"""Who may not open a view and sends it a form is refused at the gate, and the attempt is in the audit log, once."""

import json

import pytest
from sqlalchemy import select

from dashboard.db import Database, reading
from dashboard.models import AuditEntry
from dashboard.services import audit
from tests.web.client import text_of
from tests.web.conftest import SignIn
from tests.web.repairs import EVIDENCE, add


def refused(database: Database) -> list[AuditEntry]:
    with reading(database) as session:
        assert audit.verify(session).intact
        return list(session.scalars(select(AuditEntry).where(AuditEntry.outcome == "refused").order_by(AuditEntry.seq)))


@pytest.mark.parametrize(
    ("role", "path", "permission"),
    [
        ("admin", "/operations/op-1/requeue", "browse"),
        ("admin", "/operations/op-1/notes", "browse"),
        ("support", "/audit/verify", "audit_scope"),
    ],
)
def test_a_form_sent_to_a_view_of_others_is_audited(
    sqlite_database: Database, sign_in: SignIn, role: str, path: str, permission: str
) -> None:
    assert sign_in(role).send(path).status_code == 403
    [entry] = refused(sqlite_database)
    assert (entry.action, entry.subject, entry.actor_id) == ("request", path, f"{role}-1@shop.example")
    assert json.loads(entry.evidence or "") == {"code": "not_allowed", "method": "POST", "permission": permission}


def test_a_long_address_is_cut_to_what_the_log_keeps(sqlite_database: Database, sign_in: SignIn) -> None:
    path = f"/operations/{'x' * 300}/requeue"
    assert sign_in("admin").send(path).status_code == 403
    assert [entry.subject for entry in refused(sqlite_database)] == [path[:254]]


def test_looking_at_a_view_of_others_is_not_audited(sqlite_database: Database, sign_in: SignIn) -> None:
    assert sign_in("admin").get("/operations").status_code == 403
    assert refused(sqlite_database) == []


def test_what_a_service_refuses_is_audited_once(sqlite_database: Database, sign_in: SignIn) -> None:
    operation_id = add(sqlite_database)
    sent = {"idempotency_key": "form-1", "revision": "1", **EVIDENCE}
    assert sign_in("support").send(f"/operations/{operation_id}/reopen", **sent).status_code == 403
    assert [(entry.action, entry.subject) for entry in refused(sqlite_database)] == [("reopen", operation_id)]


def test_the_entry_is_readable_on_its_page(sqlite_database: Database, sign_in: SignIn) -> None:
    sign_in("support").send("/audit/verify")
    [entry] = refused(sqlite_database)
    assert "Send a request" in text_of(sign_in("admin").page(f"/audit/{entry.seq}"))
