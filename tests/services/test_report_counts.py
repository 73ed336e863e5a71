"""The counts of a month on each engine."""

from datetime import datetime, timedelta

from sqlalchemy.orm import Session

from dashboard.db import Database, reading, transact
from dashboard.domain.permissions import Role
from dashboard.models import Action, Approval, Operation
from dashboard.queries.reports import Span, report_of
from tests import factories

SPAN = Span(factories.NOW - timedelta(days=1), factories.NOW + timedelta(days=1), factories.NOW)


def action(session: Session, operation: Operation, key: str, at: datetime, **values: object) -> Action:
    row = Action(
        **{
            "operation_id": operation.id, "tenant": operation.tenant, "type": operation.type, "action": "close",
            "state": "executed", "idempotency_key": key, "revision": operation.revision, "reason_code": "duplicate",
            "note": factories.NOTE, "risk": "low", "snapshot": {}, "requested_by": "ana@shop.example",
            "requested_at": at, "executed_at": at + timedelta(minutes=5), **values,
        }
    )  # fmt: skip
    session.add(row)
    session.flush()
    return row


def month(session: Session) -> None:
    operation, at = factories.operation(session), factories.NOW
    action(session, operation, "closed", at - timedelta(hours=3))
    action(session, operation, "reopened", at - timedelta(hours=2), action="reopen", requested_by="ben@shop.example")
    proposed = action(
        session, operation, "waiting", at - timedelta(hours=1), state="proposed", executed_at=None, needed=1,
        revision=operation.revision + 1, expires_at=at + timedelta(hours=1),
    )  # fmt: skip
    decided = action(session, operation, "approved", at, needed=1, reason_code="override")
    action(session, operation, "other month", at - timedelta(days=2))
    for about, voter, vote in ((decided, "ben@shop.example", "approve"), (proposed, "eva@shop.example", "reject")):
        session.add(
            Approval(
                action_id=about.id, voter=voter, voter_kind="user", vote=vote, binding="0" * 64,
                idempotency_key=f"{voter}{about.id}", at=at,
            )
        )  # fmt: skip


def test_a_month_is_counted_by_what_its_actions_are_now(database: Database) -> None:
    transact(database, month)
    with reading(database) as session:
        report = report_of(session, SPAN, reader=factories.actor(Role.MANAGER))
        other = report_of(session, SPAN, reader=factories.actor(Role.MANAGER, tenant="shop-jp"))
    assert report.count() == 4
    # It was proposed for a revision that is gone.
    assert report.count(lambda group: group.state == "void") == 1
    assert report.count(lambda group: group.override) == 1
    assert [(who, part.count()) for who, part in report.by(lambda group: group.person)] == [
        ("ana@shop.example", 3),
        ("ben@shop.example", 1),
    ]
    assert [(pair.voter, pair.approved, pair.rejected) for pair in report.pairs] == [
        ("ben@shop.example", 1, 0),
        ("eva@shop.example", 0, 1),
    ]
    assert (report.wait(0.5), report.wait(0.95)) == (timedelta(minutes=5), timedelta(minutes=5))
    assert [(row.reopened_by, row.ended_by, row.ended_with) for row in report.reopened] == [
        ("ben@shop.example", "ana@shop.example", "close")
    ]
    assert (other.count(), other.pairs, other.wait(0.5)) == (0, [], None)
