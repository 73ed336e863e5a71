"""What is replayed, on each engine: every finding and every imported probe once, however many share an instant."""

from datetime import timedelta

from sqlalchemy import insert

from dashboard.db import Database, clock, reading, transaction
from dashboard.domain.policy import Policies
from dashboard.models import ReconciliationFinding, ReconciliationRun
from dashboard.queries.past_verdicts import past_verdicts
from dashboard.services.simulation import simulate
from tests import factories


def test_every_verdict_is_replayed_once_whatever_the_page(database: Database) -> None:
    with reading(database) as session:
        at = clock(session) - timedelta(hours=1)
    with transaction(database) as session:
        run = ReconciliationRun(state="finished", origin="worker", started_by="w", observe=False, started_at=at)
        session.add(run)
        rows = [factories.operation(session, created_at=at) for _ in range(7)]
        for row in rows:
            factories.event(session, row, at=at)
        finding = {
            "run_id": run.id,
            "tenant": "tienda-es",
            "type": "charge_order",
            "at": at,
            "state": "awaiting_confirmation",
            "attempts": 1,
            "verdict": "correct",
            "response": "confirm",
            "target": "confirmed",
            "applied": True,
            "reason": "agrees",
            "evidence": {"verdict": "correct"},
        }
        session.execute(insert(ReconciliationFinding), [{**finding, "operation_id": row.id} for row in rows])
    assert len(list(past_verdicts(database, at - timedelta(hours=1), batch=3))) == 14
    summary = simulate(database, old=Policies(), new=Policies(), days=1, tell=lambda _change: None)
    assert (summary["charge_order"].replayed, summary["charge_order"].changes.total()) == (14, 0)
