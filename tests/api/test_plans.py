"""One decision about many operations over the API: planned, started, approved by another, stopped, followed."""

from typing import Any

import pytest
from sqlalchemy import select

from dashboard.db import Database, reading, transact
from dashboard.domain.permissions import Permission
from dashboard.domain.policy import Approvals, Policies, TypePolicy
from dashboard.models import Operation
from dashboard.services import audit, bulk_runs
from tests import factories
from tests.api.conftest import Enter, Program, application, make_token

EVIDENCE = {"reason_code": "duplicate", "note": factories.NOTE}
ASKING = Policies(hash="a" * 64, types={"charge_order": TypePolicy(approvals=Approvals(needed={"close": 1}))})


def add(database: Database, count: int = 3, **values: Any) -> list[str]:
    return transact(
        database, lambda session: [factories.operation(session, **values).operation_id for _ in range(count)]
    )


def plan(host: Program, ids: list[str], **more: Any) -> int:
    made = host.post("/plans", {"action": "close", "operation_ids": ids, **more})
    assert made.status_code == 201, made.text
    return int(made.json["plan_id"])


def carry_out(database: Database, policies: Policies = Policies()) -> None:  # noqa: B008 - it is frozen
    while bulk_runs.run_due(database, policies=policies):
        pass


def states(database: Database) -> set[str]:
    with reading(database) as session:
        assert audit.verify(session).intact
        return set(session.scalars(select(Operation.state)))


def test_a_plan_runs_stops_after_its_first_rows_and_goes_on(program: Enter, database: Database) -> None:
    host = program()
    number = plan(host, [*add(database, amount="10.00", currency="EUR"), "no-such-operation"])
    started = host.post(f"/plans/{number}/start", {**EVIDENCE, "canary": 1})
    assert (started.status_code, started.json["state"]) == (200, "running")
    carry_out(database)
    paused = host.get(f"/plans/{number}").json
    assert (paused["state"], paused["because"], paused["rows"]) == ("paused", "canary", {"done": 1, "left": 2})
    assert host.post(f"/plans/{number}/resume", {}).json["state"] == "running"
    carry_out(database)
    done = host.get(f"/plans/{number}").json
    assert (done["state"], done["rows"], done["total"]) == ("done", {"done": 3}, 3)
    assert done["amounts"] == [{"outcome": "done", "currency": "EUR", "total": "30.00"}]
    rows = host.get(f"/plans/{number}/operations?outcome=done&limit=2").json
    assert (len(rows["items"]), bool(rows["next"]), states(database)) == (2, True, {"not_applicable"})


def test_a_second_program_must_agree_where_policy_asks_and_nobody_to_their_own(database: Database) -> None:
    app = application(database)
    app.extensions["dashboard.api"].extensions["dashboard.policies"] = ASKING
    first, second = (Program(app.test_client(), make_token(database)) for _ in range(2))
    number = plan(first, add(database))
    assert first.post(f"/plans/{number}/start", EVIDENCE).json["state"] == "waiting"
    own = first.post(f"/plans/{number}/approve", {})
    assert (own.status_code, own.json["code"]) == (403, "own_approval")
    assert second.post(f"/plans/{number}/approve", {}, key="vote-1").json["state"] == "running"
    assert second.post(f"/plans/{number}/approve", {}, key="vote-1").headers["Idempotent-Replayed"] == "true"
    carry_out(database, ASKING)
    assert states(database) == {"not_applicable"}


def test_a_filter_finds_them_and_what_changed_meanwhile_is_skipped(program: Enter, database: Database) -> None:
    host, ids = program(), add(database)
    add(database, count=1, type="refund_order")
    wish = {"action": "close", "filter": {"type": ["charge_order"], "state": ["manual_review"], "exceptions": True}}
    number = host.post("/plans", wish).json["plan_id"]
    changed = {"action": "close", "revision": 1, **EVIDENCE}
    assert host.post(f"/operations/{ids[0]}/actions", changed).status_code == 201
    host.post(f"/plans/{number}/start", EVIDENCE)
    carry_out(database)
    assert host.get(f"/plans/{number}").json["rows"] == {"done": 2, "skipped": 1}
    [skipped] = host.get(f"/plans/{number}/operations?outcome=skipped").json["items"]
    assert (skipped["operation_id"], skipped["changed_by"]) == (ids[0], f"token:{name_of(host, number)}")


def name_of(host: Program, number: int) -> str:
    return str(host.get(f"/plans/{number}").json["requested_by"]).removeprefix("token:")


@pytest.mark.parametrize(
    ("wish", "status", "code"),
    [
        ({}, 422, "one_of"),
        ({"operation_ids": ["op-x"], "filter": {}}, 422, "one_of"),
        ({"operation_ids": []}, 400, "field_size"),
        ({"operation_ids": ["op-x"] * 10_001}, 400, "field_size"),
        ({"operation_ids": ["op-x"]}, 422, "plan_empty"),
        ({"filter": {"sate": ["pending"]}}, 400, "field_unknown"),
        ({"filter": {"min_age": "soon"}}, 422, "age_invalid"),
    ],
)
def test_what_cannot_be_a_plan_says_why(sqlite_program: Enter, wish: dict[str, Any], status: int, code: str) -> None:
    refused = sqlite_program().post("/plans", {"action": "close", **wish})
    assert (refused.status_code, refused.json["code"]) == (status, code)


def test_a_program_that_may_only_propose_plans_and_lets_others_decide(sqlite_database: Database) -> None:
    app = application(sqlite_database)
    asking = Program(app.test_client(), make_token(sqlite_database, Permission.BROWSE, Permission.PROPOSE))
    number = plan(asking, add(sqlite_database))
    assert asking.post(f"/plans/{number}/start", EVIDENCE).json["state"] == "waiting"
    assert asking.post(f"/plans/{number}/approve", {}).status_code == 403
    assert [each["plan_id"] for each in asking.get("/plans?state=waiting").json["items"]] == [number]
    assert asking.post(f"/plans/{number}/withdraw", {}).json["state"] == "withdrawn"
    carry_out(sqlite_database)
    assert states(sqlite_database) == {"manual_review"}
