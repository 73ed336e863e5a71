"""Operations over the API: registered once, read, listed page by page, and taken back."""

from dashboard.db import Database, transact
from tests import factories
from tests.api.conftest import Enter, registration


def test_an_operation_is_registered_once_and_read(program: Enter) -> None:
    host = program()
    first = host.post("/operations", registration())
    assert (first.status_code, first.json) == (201, {"operation_id": "order-452", "new": True, "state": "pending"})
    again = host.post("/operations", registration())
    assert (again.status_code, again.json) == (200, {"operation_id": "order-452", "new": False, "state": "pending"})
    found = host.get("/operations/order-452").json
    assert (found["amount"], found["currency"], found["tenant"]) == ("318.93", "EUR", "tienda-es")
    assert found["created_at"].endswith("Z")
    assert len(found["created_at"]) == len("2026-11-30T12:00:00.123457Z")


def test_the_same_key_gives_the_same_bytes_again(program: Enter) -> None:
    host = program()
    first = host.post("/operations", registration(), key="k-1")
    again = host.post("/operations", registration(), key='"k-1"')
    assert (again.status_code, again.data, again.headers["Idempotent-Replayed"]) == (201, first.data, "true")
    assert again.headers["Location"] == first.headers["Location"] == "/api/v1/operations/order-452"
    assert "Idempotent-Replayed" not in first.headers


def test_the_same_key_with_other_content_is_refused_and_says_which_fields_differ(program: Enter) -> None:
    host = program()
    host.post("/operations", registration(), key="k-1")
    other = host.post("/operations", registration(entity_id="453"), key="k-1")
    assert (other.status_code, other.json["code"], other.json["fields"]) == (
        409,
        "idempotency_key_reused",
        ["entity_id"],
    )


def test_a_refusal_is_not_kept_under_the_key(program: Enter) -> None:
    host = program()
    bad = host.post("/operations", registration(currency=None), key="k-1")
    assert (bad.status_code, bad.json["errors"][0]["field"]) == (422, "currency")
    assert host.post("/operations", registration(), key="k-1").status_code == 201


def test_an_id_that_is_taken_is_a_conflict(program: Enter) -> None:
    host = program()
    host.post("/operations", registration())
    taken = host.post("/operations", registration(entity_id="453"))
    assert (taken.status_code, taken.json["code"], taken.json["fields"]) == (409, "operation_id_taken", ["entity_id"])


def test_pages_lead_to_each_other_and_lose_nothing(program: Enter, database: Database) -> None:
    transact(database, lambda session: [factories.operation(session, operation_id=f"p-{n}") for n in range(7)] and None)
    host, seen, path = program(), [], "/operations?limit=3&state=manual_review"
    while path:
        page = host.get(path.removeprefix("/api/v1")).json
        seen += [row["operation_id"] for row in page["items"]]
        path = page["next"]
    assert sorted(seen) == [f"p-{n}" for n in range(7)]


def test_an_operation_is_taken_back_before_anybody_begins_it(program: Enter) -> None:
    host = program()
    host.post("/operations", registration())
    done = host.post("/operations/order-452/withdraw", {"reason": "the customer cancelled"})
    assert (done.status_code, done.json["state"]) == (200, "not_applicable")
    assert host.post("/operations/order-452/withdraw", {"reason": "again"}).json["code"] == "transition_not_allowed"


def test_events_tell_the_history_oldest_first(program: Enter) -> None:
    host = program()
    host.post("/operations", registration())
    host.post("/operations/order-452/withdraw", {"reason": "the customer cancelled"})
    page = host.get("/operations/order-452/events?limit=1").json
    assert [(event["seq"], event["to_state"]) for event in page["items"]] == [(1, "pending")]
    rest = host.get(page["next"].removeprefix("/api/v1")).json["items"]
    assert [(event["to_state"], event["actor_id"][:6]) for event in rest] == [("not_applicable", "token:")]
