"""Work done elsewhere: claimed under a lease, and settled only by who holds it."""

from datetime import timedelta

import pytest
from sqlalchemy import update
from sqlalchemy.orm import Session

from dashboard.db import Database, clock, transact
from dashboard.domain.policy import Policies
from dashboard.models import Operation
from dashboard.services import leases
from tests.api.conftest import SYSTEM, Enter, Program, registration


def claimed(program: Enter) -> tuple[Program, dict[str, str]]:
    worker = program()
    worker.post("/operations", registration())
    claims = worker.post("/claims", {"types": ["charge_order"]}).json
    assert [row["operation_id"] for row in claims["operations"]] == ["order-452"]
    return worker, {"lease_token": claims["lease_token"]}


def let_leases_end(database: Database, *, rescued: bool) -> None:
    def unit(session: Session) -> None:
        session.execute(update(Operation).values(lease_until=clock(session) - timedelta(seconds=1)))
        if rescued:
            leases.rescue(session, policies=Policies(), actor=SYSTEM)

    transact(database, unit)


def test_claimed_work_says_what_to_do(program: Enter) -> None:
    worker = program()
    worker.post("/operations", registration())
    claims = worker.post("/claims", {"types": ["charge_order"], "lease_seconds": 30}).json
    work = claims["operations"][0]
    assert (work["amount"], work["attempts"], work["idempotency_key"]) == ("318.93", 1, "order-452")
    assert work["expected"] == {"order": "452", "amount": "318.93"}
    assert claims["lease_until"].endswith("Z")
    assert worker.post("/claims", {"types": ["charge_order"]}).json["operations"] == []


def test_a_claim_whose_answer_was_lost_is_asked_for_again(program: Enter) -> None:
    worker = program()
    worker.post("/operations", registration())
    first = worker.post("/claims", {"types": ["charge_order"]}, key="claim-1")
    again = worker.post("/claims", {"types": ["charge_order"]}, key="claim-1")
    assert again.data == first.data
    assert worker.get("/operations/order-452").json["attempts"] == 1


@pytest.mark.parametrize("end", ["confirmed", "rescued", "ended"])
def test_a_lease_that_is_lost_is_not_promised_again(program: Enter, database: Database, end: str) -> None:
    """Whoever repeats a claim or a heartbeat would send once more what is settled, or in other hands."""
    worker = program()
    worker.post("/operations", registration())
    asked = {"types": ["charge_order"]}
    lease = {"lease_token": worker.post("/claims", asked, key="claim-1").json["lease_token"]}
    assert worker.post("/operations/order-452/heartbeat", lease, key="beat-1").status_code == 200
    assert worker.post("/operations/order-452/heartbeat", lease, key="beat-1").status_code == 200
    if end == "confirmed":
        worker.post("/operations/order-452/confirm", {**lease, "remote_id": "ch_1"})
    else:
        let_leases_end(database, rescued=end == "rescued")
    for path, body, key in (("/claims", asked, "claim-1"), ("/operations/order-452/heartbeat", lease, "beat-1")):
        lost = worker.post(path, body, key=key)
        assert (lost.status_code, lost.json["code"]) == (409, "changed_meanwhile"), path


def test_a_claim_that_found_nothing_is_no_answer_that_stays(sqlite_program: Enter) -> None:
    worker = sqlite_program()
    assert worker.post("/claims", {"types": ["charge_order"]}, key="poll").json["operations"] == []
    worker.post("/operations", registration())
    assert len(worker.post("/claims", {"types": ["charge_order"]}, key="poll").json["operations"]) == 1


@pytest.mark.parametrize(
    ("step", "more", "state"),
    [
        ("confirm", {"remote_id": "ch_1"}, "confirmed"),
        ("confirm", {}, "awaiting_confirmation"),
        ("await", {"remote_id": "ch_1", "evidence": {"status": "accepted"}}, "awaiting_confirmation"),
        ("fail", {"cause": "not_sent"}, "retry_scheduled"),
        ("fail", {"cause": "sent_unknown", "reason": "timeout"}, "awaiting_confirmation"),
        ("retry", {"cause": "throttled", "after_seconds": 60}, "retry_scheduled"),
        ("review", {"cause": "permanent", "reason": "card declined", "status": 402}, "manual_review"),
        ("release", {}, "retry_scheduled"),
    ],
)
def test_the_outcome_decides_where_an_operation_goes(
    sqlite_program: Enter, step: str, more: dict[str, object], state: str
) -> None:
    worker, lease = claimed(sqlite_program)
    done = worker.post(f"/operations/order-452/{step}", {**lease, **more})
    assert (done.status_code, done.json) == (200, {"operation_id": "order-452", "state": state})
    assert worker.get("/operations/order-452").json["state"] == state


def test_a_lost_lease_changes_nothing(program: Enter, database: Database) -> None:
    worker, lease = claimed(program)
    assert worker.post("/operations/order-452/heartbeat", {**lease, "lease_seconds": 90}).status_code == 200
    wrong = {"lease_token": "0" * 32}
    for step in ("heartbeat", "attempt", "confirm", "await", "fail", "retry", "review", "release"):
        body = wrong | ({"cause": "not_sent"} if step in {"attempt", "fail", "retry", "review"} else {})
        lost = worker.post(f"/operations/order-452/{step}", body)
        assert (lost.status_code, lost.json["code"]) == (409, "changed_meanwhile"), step
    assert worker.get("/operations/order-452").json["state"] == "processing"


def test_what_was_settled_is_not_settled_again_but_repeated(program: Enter) -> None:
    worker, lease = claimed(program)
    first = worker.post("/operations/order-452/confirm", {**lease, "remote_id": "ch_1"}, key="done")
    assert worker.post("/operations/order-452/confirm", {**lease, "remote_id": "ch_1"}, key="done").data == first.data
    assert worker.post("/operations/order-452/confirm", {**lease, "remote_id": "ch_1"}).status_code == 409
    kinds = [event["to_state"] for event in worker.get("/operations/order-452/events").json["items"]]
    assert kinds == ["pending", "processing", "confirmed"]


def test_a_failed_try_is_noted_and_the_work_kept(program: Enter) -> None:
    worker, lease = claimed(program)
    noted = worker.post("/operations/order-452/attempt", {**lease, "cause": "not_sent", "reason": "no route"})
    assert noted.json["state"] == "processing"
    assert worker.get("/operations/order-452/events").json["items"][-1]["kind"] == "attempt"


def test_work_of_other_types_is_not_handed_out(program: Enter) -> None:
    program().post("/operations", registration())
    refunds = program(types=("refund_order",))
    assert refunds.post("/claims", {"types": ["charge_order"]}).status_code == 403
    assert refunds.post("/claims", {"types": ["refund_order"]}).json["operations"] == []
