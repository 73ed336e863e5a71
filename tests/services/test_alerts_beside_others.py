"""One thing that is wrong neither hides nor stops what else there is to tell."""

from sqlalchemy import text

from dashboard.db import Database, transact
from dashboard.models import AlertSilence, AuditCheck, AuditEntry
from tests import factories
from tests.services.watching import HOUR, MINUTE, watching


def test_a_broken_audit_log_is_told_beside_one_that_was_not_verified(database: Database) -> None:
    watch = watching(database, "[alerts]\naudit = { verified_within = '36h' }")
    watch.tell(mail=["ops@shop.example"])
    entry = {"actor_kind": "system", "actor_id": "tests", "action": "note", "subject": "x", "outcome": "done"}
    watch.add(AuditEntry(seq=1, at=watch.now - 240 * HOUR, hash="0" * 64, **entry))
    watch.look()
    quiet = {"reason": factories.NOTE, "created_by": "ana@example.com", "created_at": watch.now}
    until = watch.now + 24 * HOUR
    watch.add(AlertSilence(rule="audit", subject="", ends_at=until, idempotency_key="form-1", **quiet))
    found = {"actor_kind": "system", "actor_id": "tests", "checked": 1, "runs": 0, "anchors": 0}
    watch.add(AuditCheck(way="command", at=watch.now, problem="changed", broken_seq=1, **found))
    watch.look(MINUTE)
    assert [notice[:2] for notice in watch.notices()] == [
        ("installation:audit", "firing"),
        ("installation:audit_broken", "firing"),
    ]


def test_a_type_whose_name_cannot_be_stored_stops_no_other(sqlite_database: Database) -> None:
    watch = watching(sqlite_database, "[defaults.alerts]\naccumulation = { above = 0, for = '0s' }\n")
    watch.operations(1)
    watch.operations(1, type="refund_order")
    broken = text("UPDATE operations SET type = 'refund' || char(0) WHERE type = 'refund_order'")
    transact(sqlite_database, lambda session: session.execute(broken))
    evaluated = watch.look()
    assert evaluated is not None
    assert watch.states() == [("accumulation", "charge_order", "firing")]
    assert evaluated.unreadable == ("types with names that cannot be stored",)
