"""Repairs over HTTP go through the same choke point as on the screens."""

from typing import Any

from sqlalchemy import func, select

from dashboard.db import Database, reading, transact
from dashboard.domain.permissions import Permission
from dashboard.models import Action, AuditEntry
from dashboard.services import audit
from tests import factories
from tests.api.conftest import Enter

WHY = {"reason_code": "customer_waiting", "note": "The customer has been waiting since this morning."}


def stuck(database: Database, **values: Any) -> None:
    kept = {"operation_id": "order-452", "state": "retry_scheduled", **values}
    transact(database, lambda session: factories.operation(session, **kept).id)


def test_an_action_is_previewed_and_done_once_with_its_evidence(program: Enter, database: Database) -> None:
    stuck(database)
    host = program()
    preview = host.get("/operations/order-452/actions/escalate/preview").json
    assert (preview["target"], preview["revision"], preview["refusal"]) == ("manual_review", 1, None)
    wish = {"action": "escalate", "revision": preview["revision"], **WHY}
    first = host.post("/operations/order-452/actions", wish, key="once")
    again = host.post("/operations/order-452/actions", wish, key="once")
    assert (first.status_code, first.json["state"]) == (201, "executed")
    assert (again.data, again.headers["Idempotent-Replayed"]) == (first.data, "true")
    found = host.get(first.headers["Location"].removeprefix("/api/v1")).json
    assert (found["action"], found["operation_id"], found["requested_by"][:6]) == ("escalate", "order-452", "token:")
    with reading(database) as session:
        assert session.scalar(select(func.count()).select_from(Action)) == 1
        assert audit.verify(session).intact


def test_a_refused_action_is_audited_and_may_be_asked_for_again(program: Enter, database: Database) -> None:
    stuck(database)
    host = program(name="desk")
    old = host.post("/operations/order-452/actions", {"action": "escalate", "revision": 7, **WHY}, key="k")
    assert (old.status_code, old.json["code"]) == (409, "changed_meanwhile")
    with reading(database) as session:
        entry = session.scalars(select(AuditEntry).order_by(AuditEntry.seq.desc()).limit(1)).one()
        assert (entry.actor_id, entry.action, entry.outcome) == ("token:desk", "escalate", "refused")
    short = host.post("/operations/order-452/actions", {"action": "escalate", "revision": 1, **WHY, "note": "now"})
    assert (short.status_code, short.json["errors"][0]["code"]) == (422, "note_too_short")


def test_a_proposal_is_approved_by_another_token_and_never_by_its_own(program: Enter, database: Database) -> None:
    stuck(database, state="manual_review")
    proposer = program(Permission.BROWSE, Permission.PROPOSE, Permission.APPROVE)
    wish = {"action": "close", "revision": 1, "reason_code": "written_off", "note": factories.NOTE}
    proposed = proposer.post("/operations/order-452/actions", wish).json
    assert proposed["state"] == "proposed"
    path = f"/actions/{proposed['action_id']}"
    own = proposer.post(f"{path}/approve", {})
    assert (own.status_code, own.json["code"]) == (403, "own_approval")
    other = program(Permission.BROWSE, Permission.APPROVE, Permission.EXECUTE)
    first = other.post(f"{path}/approve", {}, key="yes")
    assert (first.status_code, first.json["state"]) == (200, "executed")
    assert other.post(f"{path}/approve", {}, key="yes").data == first.data
    third = program(Permission.BROWSE, Permission.APPROVE).post(f"{path}/approve", {}, key="yes")
    assert (third.status_code, third.json["code"]) == (409, "idempotency_key_reused"), "nobody votes for somebody else"
    assert other.get("/operations/order-452").json["state"] == "not_applicable"


def test_figures_count_what_the_token_sees(sqlite_program: Enter, sqlite_database: Database) -> None:
    stuck(sqlite_database, state="manual_review")
    assert sqlite_program().get("/figures").json["manual_review"] == 1
    assert sqlite_program(tenant="loja-br").get("/figures").json["manual_review"] == 0


def test_the_audit_log_is_exported_as_lines_and_withholds_what_is_not_the_tokens(
    sqlite_program: Enter, sqlite_database: Database
) -> None:
    stuck(sqlite_database)
    sqlite_program().post("/operations/order-452/actions", {"action": "escalate", "revision": 1, **WHY})
    lines = [line for line in sqlite_program(Permission.EXPORT).get("/audit/export").text.splitlines() if line]
    assert lines[0].startswith('{"format": "operations-dashboard/audit-export/v1"')
    assert "waiting since this morning" not in "".join(lines)
    assert len(lines) > 3
