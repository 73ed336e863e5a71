"""`dashboard policy simulate`: every decision that another policy file would change, and nothing written."""

from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path

import pytest

from dashboard.db import Database, transaction
from dashboard.models import ReconciliationFinding, ReconciliationRun
from tests import factories
from tests.cli.conftest import Run
from tests.web.lists import now

POLICY = """
version = 1
[destinations.payments]
honours_idempotency_key = true
[types.charge_order]
destination = "payments"
on = { absent = "retry" }
deadline = "2h"
compare = [{ field = "amount", expected = "amount", actual = "amount", kind = "decimal" }]
"""


@pytest.fixture
def policy(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = folder / "policies.toml"
    path.write_text(POLICY)
    monkeypatch.setenv("DASHBOARD_POLICIES", str(path))
    return path


def other(policy: Path, old: str = "", new: str = "") -> Path:
    path = policy.with_name("new.toml")
    path.write_text(POLICY.replace(old, new))
    return path


def found(database: Database, verdict: str, **evidence: object) -> None:
    """A finding of an hour ago, about an operation that was created half an hour before."""
    at = now() - timedelta(hours=1)
    created = at - timedelta(minutes=30)
    with transaction(database) as session:
        row = factories.operation(session, created_at=created, deadline_at=created + timedelta(hours=2))
        run = ReconciliationRun(state="finished", origin="worker", started_by="worker-1", observe=False, started_at=at)
        session.add(run)
        session.flush()
        session.add(
            ReconciliationFinding(
                run_id=run.id,
                operation_id=row.id,
                tenant=row.tenant,
                type=row.type,
                at=at,
                state="awaiting_confirmation",
                attempts=2,
                verdict=verdict,
                response="wait",
                applied=True,
                reason="whatever",
                evidence={"verdict": verdict, **evidence},
            )
        )


def compared(expected: str, actual: str) -> Mapping[str, object]:
    difference = {"field": "amount", "expected": expected, "actual": actual, "differs": expected != actual}
    return {"expected": {"amount": expected}, "actual": {"amount": actual}, "differences": [difference]}


def test_the_same_policy_changes_nothing(ready: Database, run: Run, policy: Path) -> None:
    for verdict in ("absent", "correct", "divergent", "ambiguous", "not_applicable"):
        found(ready, verdict)
    ended = run("policy", "simulate", policy)
    assert ended.status == 0
    assert "5 verdicts of 30 days, 0 decisions would change. Nothing was written." in ended.out


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (
            ('absent = "retry"', 'absent = "review"'),
            "retry to retry_scheduled -> review to manual_review (another response to this verdict)",
        ),
        (
            ('destination = "payments"', 'destination = "payments"\nretry = { max_attempts = 2 }'),
            "-> review to manual_review (another number of attempts)",
        ),
        (('deadline = "2h"', 'deadline = "10m"'), "-> review to manual_review (another deadline)"),
        (
            ('deadline = "2h"', 'deadline = "2h"\nmode = "observe"'),
            "-> retry to retry_scheduled, only noted (another mode)",
        ),
    ],
)
def test_a_decision_that_changes_is_told_with_the_reason(
    ready: Database, run: Run, policy: Path, change: tuple[str, str], told: str
) -> None:
    found(ready, "absent", reason="proven_absent")
    ended = run("policy", "simulate", other(policy, *change))
    assert told in ended.out
    assert "charge_order: 1 verdict, 1 changed decision (retry ->" in ended.out


def test_absence_that_would_not_be_proven_is_told(ready: Database, run: Run, policy: Path) -> None:
    found(ready, "absent")
    unproven = POLICY.replace("honours_idempotency_key = true", "honours_idempotency_key = false")
    new = policy.with_name("new.toml")
    new.write_text(unproven.replace('deadline = "2h"', 'deadline = "2h"\nvisibility_lag = "0s"\nmode = "observe"'))
    assert "review to manual_review, only noted (absence would not be proven)" in run("policy", "simulate", new).out


def test_a_stored_comparison_is_made_again_with_the_new_tolerance(ready: Database, run: Run, policy: Path) -> None:
    found(ready, "divergent", candidates=1, **compared("10.00", "10.01"))
    ended = run("policy", "simulate", other(policy, 'kind = "decimal"', 'kind = "decimal", tolerance = "0.01"'))
    assert (
        "divergent -> correct: review to manual_review -> confirm to confirmed (other fields or tolerances)"
        in ended.out
    )


def test_a_field_that_was_not_stored_keeps_the_verdict(ready: Database, run: Run, policy: Path) -> None:
    found(ready, "correct", candidates=1, **compared("10.00", "10.00"))
    more = '}, { field = "currency", expected = "currency", actual = "currency" }]'
    ended = run("policy", "simulate", other(policy, "}]", more))
    assert "kept because what was stored does not show the new fields: 1" in ended.out
    assert "0 decisions would change" in ended.out


def test_imported_probes_are_replayed_in_the_state_of_their_time(ready: Database, run: Run, policy: Path) -> None:
    at = now() - timedelta(hours=1)
    with transaction(ready) as session:
        row = factories.operation(session, created_at=at, state="manual_review")
        sent = {"kind": "transition", "from_state": "processing", "to_state": "awaiting_confirmation"}
        factories.event(session, row, seq=1, **sent)
        factories.event(session, row, seq=2, evidence={"verdict": "absent", "candidates": 0})
        factories.event(session, row, seq=3, evidence={"verdict": ["hostile"]})
        reviewed = {"kind": "transition", "from_state": "awaiting_confirmation", "to_state": "manual_review"}
        factories.event(session, row, seq=4, **reviewed)
    ended = run("policy", "simulate", other(policy, 'absent = "retry"', 'absent = "review"'))
    assert f"{row.operation_id}  charge_order  absent: retry to retry_scheduled -> review" in ended.out
    assert "1 verdict of 30 days, 1 decision would change" in ended.out


def test_what_is_older_is_left_out(ready: Database, run: Run, policy: Path) -> None:
    with transaction(ready) as session:
        old = now() - timedelta(days=3)
        factories.event(session, factories.operation(session, created_at=old), at=old)
    assert "0 verdicts of 2 days" in run("policy", "simulate", policy, "--days", "2").out


def test_a_wrong_policy_is_told_and_nothing_is_replayed(ready: Database, run: Run, policy: Path) -> None:
    ended = run("policy", "simulate", other(policy, "deadline", "dedline"))
    assert (ended.status, "dedline" in ended.err) == (2, True)
