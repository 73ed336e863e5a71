"""Who may call, and how everything that is refused is said."""

from typing import Any

import pytest
from sqlalchemy import select, update

from dashboard.db import Database, reading, transact
from dashboard.domain.permissions import Permission
from dashboard.edge.context import PUBLIC, access_of
from dashboard.models import ApiToken, AuditEntry
from tests.api.conftest import Enter, Program, application, registration


def told(answer: Any) -> tuple[int, str]:
    assert answer.mimetype == "application/problem+json"
    assert answer.json["request_id"] == answer.headers["X-Request-ID"]
    assert answer.json["status"] == answer.status_code
    assert "Set-Cookie" not in answer.headers
    return answer.status_code, answer.json["code"]


def test_no_route_answers_without_a_token(sqlite_database: Database) -> None:
    app = application(sqlite_database)
    api, client = app.extensions["dashboard.api"], app.test_client()
    for rule in api.url_map.iter_rules():
        if access_of(api.view_functions[rule.endpoint]) == PUBLIC:
            continue
        values = {name: 1 if name == "number" else "x" for name in rule.arguments}
        method = "GET" if "GET" in (rule.methods or ()) else "POST"
        with api.test_request_context():
            path = api.url_map.bind("localhost").build(rule.endpoint, values, method=method)
        answer = client.open(path, method=method)
        assert told(answer) == (401, "token_missing"), path
        assert answer.headers["WWW-Authenticate"].startswith("Bearer")


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"revoked_at": "now"}, "token_revoked"),
        ({"expires_at": "now"}, "token_expired"),
        ({"secret_hash": "0" * 64}, "token_unknown"),
    ],
)
def test_a_token_that_has_ended_opens_nothing(
    sqlite_database: Database, sqlite_program: Enter, change: dict[str, Any], code: str
) -> None:
    host = sqlite_program()
    assert host.get("/operations").status_code == 200
    with reading(sqlite_database) as session:
        now = session.scalars(select(ApiToken.created_at)).one()
    values = {name: now if value == "now" else value for name, value in change.items()}
    transact(sqlite_database, lambda session: session.execute(update(ApiToken).values(values)))
    assert told(host.get("/operations")) == (401, code)


def test_what_a_token_was_not_given_is_refused_and_audited(sqlite_database: Database, sqlite_program: Enter) -> None:
    reader = sqlite_program(Permission.BROWSE, name="reader")
    assert told(reader.post("/operations", registration())) == (403, "not_allowed")
    with reading(sqlite_database) as session:
        entry = session.scalars(select(AuditEntry).order_by(AuditEntry.seq.desc()).limit(1)).one()
    assert (entry.actor_id, entry.action, entry.outcome) == ("token:reader", "request", "refused")


def test_the_last_use_is_not_written_with_every_call(sqlite_database: Database, sqlite_program: Enter) -> None:
    host = sqlite_program()
    seen = set()
    for _ in range(3):
        host.get("/operations")
        with reading(sqlite_database) as session:
            seen.add(session.scalars(select(ApiToken.last_used_at)).one())
    assert len(seen) == 1
    assert None not in seen


def test_addresses_and_methods_that_do_not_exist_are_problems_too(sqlite_program: Enter) -> None:
    host = sqlite_program()
    nothing = host.get("/nothing")
    assert told(nothing) == (404, "not_found")
    assert nothing.json["detail"] == host.get("/operations/none-such").json["detail"] != ""
    assert told(host.get("/operations/none-such")) == (404, "not_found")
    wrong = host.client.delete("/api/v1/operations", headers=host.headers())
    assert told(wrong) == (405, "method_not_allowed")
    assert set(wrong.headers["Allow"].split(", ")) == {"GET", "HEAD", "OPTIONS", "POST"}


def send(host: Program, body: bytes, content_type: str = "application/json") -> Any:
    headers = {**host.headers(), "Idempotency-Key": "k-1", "Content-Type": content_type}
    return host.client.post("/api/v1/operations", data=body, headers=headers)


def test_bodies_that_cannot_be_read_say_how_they_are_to_be_sent(sqlite_program: Enter) -> None:
    host = sqlite_program()
    assert told(send(host, b"x" * (2 * 1024 * 1024 + 1))) == (413, "body_too_large")
    assert told(send(host, b"a=1", "application/x-www-form-urlencoded")) == (415, "media_type_unsupported")
    assert told(send(host, b"{")) == (400, "payload_not_json")
    assert told(send(host, b'{"type": "a", "type": "b"}')) == (400, "payload_duplicate_name")
    assert told(send(host, b'{"expected_version": NaN}')) == (400, "payload_number")
    assert told(send(host, b"[1]")) == (400, "field_type")


def test_every_bad_field_is_named(sqlite_program: Enter) -> None:
    host = sqlite_program()
    bad = host.post("/operations", registration(amount="1e3", currency="euro", colour="blue"))
    assert told(bad) == (400, "schema_broken")
    assert {error["field"] for error in bad.json["errors"]} == {"amount", "currency", "colour"}
    odd = host.post("/operations", registration(entity_id="a\0b", expected={"n": 0.1, "deep": [{"x": "\ud800"}]}))
    assert told(odd) == (422, "invalid_input")
    assert {error["field"] for error in odd.json["errors"]} == {"entity_id", "expected.deep.0.x"}


def test_a_number_that_would_be_rounded_is_refused(sqlite_program: Enter) -> None:
    host = sqlite_program()
    body = b'{"operation_id":"o-1","type":"t","entity_type":"e","entity_id":"1","destination":"d","expected":{"n":%s}}'
    assert told(send(host, body % b"9007199254740993.1")) == (422, "number_lost")
    assert send(host, body % b"9007199254740993").status_code == 201


@pytest.mark.parametrize(
    ("key", "code"), [(None, "key_missing"), ("", "key_empty"), ("x" * 256, "key_too_long"), ("a, b", "key_repeated")]
)
def test_a_change_needs_a_key(sqlite_program: Enter, key: str | None, code: str) -> None:
    assert told(sqlite_program().post("/operations", registration(), key=key)) == (400, f"idempotency_{code}")


@pytest.mark.parametrize(
    ("query", "status", "code"),
    [
        ("colour=blue", 400, "parameter_unknown"),
        ("state=", 400, "parameter_empty"),
        ("sort=newest&sort=oldest", 400, "parameter_twice"),
        ("state=blue", 400, "filter_unknown"),
        ("limit=0", 400, "limit_invalid"),
        ("after=nowhere", 422, "cursor_invalid"),
        ("sort=worst", 422, "sort_open_only"),
    ],
)
def test_a_slip_in_a_query_never_widens_a_list(sqlite_program: Enter, query: str, status: int, code: str) -> None:
    assert told(sqlite_program().get(f"/operations?{query}")) == (status, code)
