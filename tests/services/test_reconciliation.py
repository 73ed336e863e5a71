from datetime import timedelta
from types import MappingProxyType

import pytest
from sqlalchemy import func, select, update
from sqlalchemy.orm import Session

from dashboard.db import clock, reading, transact
from dashboard.domain.policy import DEFAULT_RESPONSES, Mode, Response
from dashboard.domain.responses import Reason
from dashboard.domain.verdicts import Verdict
from dashboard.models import (
    AuditEntry,
    IdempotencyRecord,
    Operation,
    OperationEvent,
    ReconciliationFinding,
    ReconciliationRun,
)
from dashboard.services import runs
from dashboard.services.asking import Circuit
from tests.destination import Planned
from tests.reconciling import RECONCILER, Payments

HOUR = timedelta(hours=1)


def test_an_effect_that_agrees_is_confirmed_with_its_evidence(payments: Payments) -> None:
    payments.sent()
    payments.shows(amount=318.930)
    run = payments.reconcile()
    row = payments.row()
    assert (row.state, row.verdict, row.recommended_action, row.remote_id) == ("confirmed", "correct", None, "pay_1")
    assert (row.lease_token, row.lease_until, row.next_attempt_at) == (None, None, None)
    probe = payments.events()[0]
    assert (probe.run_id, probe.policy_hash, probe.actor_kind) == (run, "f" * 64, "reconciler")
    evidence = probe.evidence or {}
    assert (evidence["candidates"], evidence["status"], len(evidence["raw_hash"])) == (1, 200, 64)
    assert evidence["actual"] == {"amount": "318.93", "currency": "EUR"}


def test_nothing_due_leaves_no_run(payments: Payments) -> None:
    payments.sent(ago=timedelta(minutes=1))
    assert payments.reconcile() is None
    assert payments.runs() == []
    assert payments.destination.looks() == 0


def test_a_window_given_by_hand_replaces_the_policy_s(payments: Payments) -> None:
    payments.sent(ago=timedelta(minutes=1))
    payments.reconcile(window=timedelta(seconds=30))
    assert payments.destination.looks() == 1


def test_a_pass_looks_at_each_operation_once(payments: Payments) -> None:
    for number in range(3):
        payments.sent(f"op-{number}", next_attempt_at=payments.now() - HOUR)
    payments.destination.always_answer(Planned(404))
    payments.reconcile(window=timedelta(0))
    assert payments.destination.looks() == 3


def test_a_limit_counts_by_type_and_the_rest_stays_due(payments: Payments) -> None:
    for number in range(5):
        payments.sent(f"op-{number}")
        payments.shows(f"op-{number}")
    payments.reconcile(limit=2)
    assert payments.runs()[0].examined == 2
    payments.reconcile()
    assert payments.runs()[1].examined == 3


def test_only_a_type_leaves_the_others(payments: Payments) -> None:
    payments.sent()
    assert payments.reconcile(only_type="refund_order") is None


def test_told_to_stop_it_finishes_the_one_in_hand(payments: Payments) -> None:
    for number in range(3):
        payments.sent(f"op-{number}")
        payments.shows(f"op-{number}")
    payments.reconcile(stop=lambda: payments.destination.looks() >= 1)
    run = payments.runs()[0]
    assert (run.state, run.examined, run.correct, run.acted) == ("stopped", 1, 1, 1)


def test_observing_changes_no_operation_and_lists_every_decision(payments: Payments) -> None:
    payments.sent("op-1")
    payments.shows("op-1")
    payments.sent("op-2")
    before = _everything(payments)
    payments.reconcile(observe=True)
    assert _everything(payments) == before
    assert payments.found() == [
        ("correct", "agrees", "confirm", False),
        ("ambiguous", "first_miss", "wait", False),
    ]
    assert payments.runs()[0].observe
    assert payments.runs()[0].acted == 0


def test_a_type_in_observe_mode_is_looked_at_again_only_when_it_is_its_turn(payments: Payments) -> None:
    payments.under(mode=Mode.OBSERVE)
    payments.sent()
    before = _everything(payments)
    assert payments.reconcile() is not None
    assert payments.reconcile() is None
    assert _everything(payments) == before
    payments.wait(HOUR)
    assert payments.reconcile() is not None
    assert payments.found()[-1] == ("absent", "proven_absent", "retry", False)


def test_a_type_without_a_probe_goes_to_a_person_after_its_window(payments: Payments) -> None:
    payments.under(probe=None)
    payments.sent()
    payments.reconcile()
    assert payments.facts() == (0, "manual_review", "ambiguous")
    assert payments.found() == [("ambiguous", "no_probe", "review", True)]


def test_an_operation_that_does_not_say_what_to_expect_is_not_called_correct(payments: Payments) -> None:
    payments.sent(expected={"order": "452"})
    payments.shows()
    payments.reconcile()
    assert payments.found() == [("ambiguous", "not_comparable", "review", True)]


def test_used_up_attempts_go_to_a_person_with_a_recommendation(payments: Payments) -> None:
    payments.behaving(honours_idempotency_key=True)
    payments.sent(attempts=3)
    payments.reconcile()
    assert payments.found() == [("absent", "attempts_used_up", "review", True)]
    assert payments.row().recommended_action == "requeue"


def test_evidence_holds_no_secret_and_nothing_that_policy_hides(payments: Payments) -> None:
    payments.under(redact=("expected.currency",))
    payments.sent(expected={"amount": "318.93", "currency": "EUR", "password": "hunter2"})
    payments.shows(currency="USD", token="sk_live_0123456789")
    payments.reconcile()
    told = str(payments.events()[0].evidence) + str(payments.findings()[0].evidence)
    assert not any(secret in told for secret in ("hunter2", "sk_live_0123456789", "USD", "EUR"))


def test_odd_bytes_of_an_answer_reach_the_evidence_as_text(payments: Payments) -> None:
    payments.under(compare=())
    payments.sent()
    payments.destination.add("op-1", note="nul \0 and half \ud83d a smile", deep=[[[[[[[[1]]]]]]]], huge=10**60)
    payments.reconcile()
    assert payments.facts() == (1, "confirmed", "correct")


def test_a_destination_that_is_away_is_left_alone_after_three_failures(payments: Payments) -> None:
    for number in range(8):
        payments.sent(f"op-{number}")
    payments.destination.always_answer(Planned(503))
    circuit = Circuit()
    payments.reconcile(circuit=circuit)
    assert payments.destination.looks() == 3
    assert payments.reconcile(circuit=circuit) is None
    assert payments.destination.looks() == 3


def test_a_destination_that_is_back_drains_in_order(payments: Payments) -> None:
    for number in range(8):
        payments.sent(f"op-{number}", next_attempt_at=payments.now() - HOUR + timedelta(minutes=number))
        payments.shows(f"op-{number}")
    payments.reconcile()
    assert [row.operation_id for row in payments.findings()] == sorted(row.operation_id for row in payments.findings())
    assert {payments.row(f"op-{number}").state for number in range(8)} == {"confirmed"}


def test_a_probe_that_breaks_stops_no_other(payments: Payments, caplog: pytest.LogCaptureFixture) -> None:
    payments.sent("op-1", expected=["no", "mapping"])
    payments.sent("op-2")
    payments.shows("op-2")
    payments.reconcile()
    assert payments.row("op-2").state == "confirmed"
    assert payments.runs()[0].state == "finished"


@pytest.mark.parametrize(
    ("answer", "settled"), [(None, ("completed", None)), (201, ("completed", 201))], ids=["lost", "stored"]
)
def test_the_key_is_settled_with_its_operation(
    payments: Payments, answer: int | None, settled: tuple[str, int | None]
) -> None:
    payments.sent(idempotency_key="key-1")
    _record(payments, response_status=answer)
    payments.shows()
    payments.reconcile()
    record = payments.record()
    assert (record.state, record.response_status) == settled
    assert record.completed_at is not None
    assert record.external_reference == "pay_1"


def test_the_key_of_a_closed_operation_has_failed_and_that_of_an_open_one_is_pending(payments: Payments) -> None:
    payments.asks(cancelled="status == 'cancelled'")
    payments.sent(idempotency_key="key-1")
    _record(payments, state="processing")
    payments.reconcile()
    assert payments.record().state == "pending"
    payments.shows(status="cancelled")
    payments.reconcile(window=timedelta(0))
    assert payments.record().state == "failed"


def test_the_key_of_an_owner_at_work_is_left_alone(payments: Payments) -> None:
    payments.sent(idempotency_key="key-1")
    _record(payments, state="processing", owner_token="host", lease_until=payments.now() + HOUR)
    payments.shows()
    payments.reconcile()
    assert payments.record().state == "processing"


def test_policy_may_ask_for_a_person_even_where_the_effect_is_there(payments: Payments) -> None:
    payments.under(on=MappingProxyType({**DEFAULT_RESPONSES, Verdict.CORRECT: Response.REVIEW}))
    payments.sent()
    payments.shows()
    payments.reconcile()
    assert payments.facts() == (1, "manual_review", "correct")
    assert payments.row().recommended_action == "confirm"


def test_a_run_leaves_one_audit_entry_with_a_digest_of_its_findings(payments: Payments) -> None:
    for number in range(3):
        payments.sent(f"op-{number}")
    payments.reconcile()
    with reading(payments.database) as session:
        entry = session.scalars(select(AuditEntry)).one()
        digest = runs.digest_of(session, 1)
    assert (entry.action, entry.subject) == ("reconciliation_run", "reconciliation run 1")
    assert payments.runs()[0].digest == digest
    assert digest is not None
    assert digest in str(entry.evidence)
    transact(payments.database, _forge)
    with reading(payments.database) as session:
        assert runs.digest_of(session, 1) != digest


def test_a_run_whose_process_is_gone_is_marked_by_the_next_pass(payments: Payments) -> None:
    beginning = runs.Beginning(RECONCILER, "worker", None)
    number = transact(payments.database, lambda session: runs.begin(session, beginning))
    payments.reconcile()
    assert payments.runs()[0].state == "running"
    transact(
        payments.database,
        lambda session: session.execute(
            update(ReconciliationRun).values(started_at=clock(session) - HOUR).where(ReconciliationRun.id == number)
        ),
    )
    payments.reconcile()
    assert payments.runs()[0].state == "stopped"


def test_a_lease_that_its_holder_left_behind_is_taken_over(payments: Payments) -> None:
    payments.sent(lease_token="gone", lease_until=payments.now() - timedelta(seconds=1))
    payments.shows()
    payments.reconcile()
    assert payments.facts() == (1, "confirmed", "correct")


def _everything(payments: Payments) -> tuple[list[tuple[object, ...]], int]:
    with reading(payments.database) as session:
        rows = session.execute(select(Operation.__table__).order_by(Operation.id)).all()
        events = session.scalar(select(func.count()).select_from(OperationEvent)) or 0
    return [tuple(row) for row in rows], events


def _record(payments: Payments, **values: object) -> None:
    def unit(session: Session) -> None:
        now = clock(session)
        given = {
            "tenant": "tienda-es",
            "operation": "charge_order",
            "key": "key-1",
            "fingerprint": "0" * 64,
            "state": "pending",
            "lease_until": now - HOUR,
            "operation_id": "op-1",
            "created_at": now - HOUR,
            "updated_at": now - HOUR,
        }
        session.add(IdempotencyRecord(**{**given, **values}))

    transact(payments.database, unit)


def _forge(session: Session) -> None:
    session.execute(update(ReconciliationFinding).values(reason=Reason.AGREES.value))
