"""Faults 28 and 29: many append to the audit log at once, and somebody with the database's own rights alters it."""

import threading
from collections.abc import Callable

import pytest
import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import Session

from dashboard.adapters import anchor_keys
from dashboard.db import Database, reading, transact
from dashboard.domain.permissions import Role
from dashboard.models import AuditEntry, AuditHead, OperationEvent
from dashboard.services import notes
from dashboard.services.anchoring import take_anchor
from dashboard.services.audit_checks import verify_all
from tests import factories
from tests.import_file import ACTOR
from tests.services.tampering import append_some, tamper, verified
from tests.services.test_audit_anchors import KEY

PEOPLE, EACH = 20, 5
STATEMENTS = {
    "update": "UPDATE audit_log SET reason = 'other' WHERE seq = 3",
    "delete": "DELETE FROM audit_log WHERE seq = 3",
    "truncate": "TRUNCATE TABLE audit_log",
    "replace": "REPLACE INTO audit_log (seq, at, actor_kind, actor_id, action, subject, outcome, hash) "
    "VALUES (3, '2026-11-30 12:00:00.000000', 'user', 'x', 'x', 'x', 'done', 'x')",
}
KNOWN = {
    "sqlite": ("update", "delete", "replace"),
    "postgresql": ("update", "delete", "truncate"),
    "mysql": ("update", "delete", "truncate", "replace"),
}


def at_once(work: Callable[[int], None]) -> None:
    """Let everybody begin in the same moment."""
    start = threading.Barrier(PEOPLE)

    def one(number: int) -> None:
        start.wait()
        work(number)

    threads = [threading.Thread(target=one, args=(number,)) for number in range(PEOPLE)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_a_hundred_notes_at_once_are_a_hundred_entries_in_one_chain(database: Database) -> None:
    names = transact(database, lambda session: [factories.operation(session).operation_id for _ in range(EACH)])

    def work(person: int) -> None:
        asking = factories.actor(Role.SUPPORT, name=f"person-{person}@shop.example")
        for name in names:
            notes.add_note(database, actor=asking, operation_id=name, idempotency_key=f"k{person}", text="Seen.")

    at_once(work)
    with reading(database) as session:
        assert session.scalar(sa.select(sa.func.count()).select_from(OperationEvent)) == PEOPLE * EACH
        assert list(session.scalars(sa.select(AuditEntry.seq).order_by(AuditEntry.seq))) == list(range(1, 101))
    assert verified(database).intact


def test_each_way_to_alter_the_log_is_refused(database: Database) -> None:
    append_some(database, 5)
    for name in KNOWN[database.dialect]:
        with pytest.raises(DBAPIError), database.engine.begin() as connection:
            connection.execute(sa.text(STATEMENTS[name]))
    assert verified(database).checked == 5


def test_past_the_triggers_it_is_named(database: Database) -> None:
    append_some(database, 5)
    tamper(database, STATEMENTS["update"])
    found = verified(database)
    assert (found.problem, found.broken_seq, found.checked) == ("changed", 3, 2)


def test_a_cut_tail_is_named_by_the_head_and_without_it_by_an_anchor(database: Database) -> None:
    append_some(database, 5)
    anchor = take_anchor(database, actor=ACTOR, key=KEY)
    tamper(database, "DELETE FROM audit_log WHERE seq > 3")
    assert (verified(database).problem, verified(database).broken_seq) == ("tail_cut", 4)

    def third(session: Session) -> str:
        return session.get_one(AuditEntry, 3).hash

    tamper(database, sa.update(AuditHead).values(seq=3, hash=transact(database, third)))
    assert verified(database).intact
    with reading(database) as session:
        found = verify_all(session, anchors=[anchor], trusted={anchor_keys.public_key(KEY)})
    assert (found.problem, found.broken_seq, found.detail) == ("anchor_cut", 4, anchor.name)
