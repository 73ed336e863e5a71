"""Masked fields on every screen: shown to nobody, revealed to one person for a while, and on the record."""

import json
import re
from datetime import timedelta
from pathlib import Path

import pytest
import sqlalchemy as sa
from flask import Flask
from flask.testing import FlaskClient

from dashboard.config import Settings
from dashboard.db import Database, reading, transact, transaction
from dashboard.domain.masking import MASKED
from dashboard.domain.permissions import Grant, Role
from dashboard.models import AuditEntry, IdempotencyRecord, Operation, Reveal
from tests import factories
from tests.api.conftest import Program, make_token
from tests.web.client import PageClient, parse, text_of
from tests.web.conftest import SignIn

EMAIL = "ana.secreta@customer.example"
IBAN = "ES9121000418450200051332"
POLICIES = """
[types.charge_order]
mask = ["expected.customer.email", "iban"]
[[types.charge_order.compare]]
field = "Customer's address"
expected = "customer.email"
actual = "customer.email"
"""
REASON = "The customer called and asks where her receipt went."


@pytest.fixture
def settings(settings: Settings, tmp_path: Path) -> Settings:
    path = tmp_path / "policies.toml"
    path.write_text(POLICIES)
    return settings.model_copy(update={"policies": path})


@pytest.fixture
def operation_id(sqlite_database: Database) -> str:
    """An operation whose masked values lie wherever one can lie."""
    person = {"customer": {"email": EMAIL, "name": "Ana"}, "iban": IBAN, "order": "452"}

    def unit(session: sa.orm.Session) -> str:
        operation = factories.operation(session, expected=person, idempotency_key="key-452")
        compared = [{"field": "Customer's address", "expected": EMAIL, "actual": f"x{EMAIL}", "differs": True}]
        factories.event(
            session,
            operation,
            evidence={"verdict": "divergent", "expected": person, "actual": person, "differences": compared},
            reason=f"{EMAIL} is not what {IBAN} says",
        )
        factories.event(session, operation, seq=2, kind="note", reason=f"wrote to {EMAIL}", evidence=None)
        factories.message(session, operation_id=operation.id, payload=json.dumps({"order": person}))
        session.add(a_record(operation.operation_id, json.dumps(person).encode()))
        session.add(a_record(operation.operation_id, f"email={EMAIL}".encode(), key="key-453"))
        return operation.operation_id

    return transact(sqlite_database, unit)


def a_record(operation_id: str, body: bytes, key: str = "key-452") -> IdempotencyRecord:
    now = factories.NOW
    return IdempotencyRecord(
        tenant="tienda-es", operation="charge_order", key=key, fingerprint="0" * 64, state="completed",
        lease_until=now, response_status=201, response_body=body, resource_ids=[{"iban": IBAN}],
        operation_id=operation_id, created_at=now, updated_at=now,
    )  # fmt: skip


def send(browser: PageClient, operation_id: str, **values: str) -> int:
    form = {"idempotency_key": "form-1", "field": "expected.customer.email", "note": REASON, **values}
    return browser.send(f"/operations/{operation_id}/reveal", **form).status_code


def pages(app: Flask, browser: PageClient, operation_id: str) -> dict[str, str]:
    """What each address that a person can reach by links from the first pages answers, walked to its end."""
    waiting = ["/", "/operations", f"/operations/{operation_id}", f"/operations/{operation_id}/events/1"]
    seen: dict[str, str] = {}
    while waiting and len(seen) < 100:
        address = waiting.pop(0)
        if address in seen or address.startswith(("/static", "/logout", "/api/", "http", "#")):
            continue
        answer = browser.get(address)
        seen[address] = answer.text
        if answer.mimetype == "text/html" and answer.status_code == 200:
            links = [link.get("href") or "" for link in parse(answer.text).iter("a")]
            waiting += [link.partition("#")[0] for link in links if link.startswith("/") and "?" not in link]
    return seen


@pytest.mark.parametrize("role", [Role.SUPPORT, Role.MANAGER])
def test_no_page_shows_a_masked_value(app: Flask, sign_in: SignIn, operation_id: str, role: Role) -> None:
    browser = sign_in(role)
    browser.send(
        f"/operations/{operation_id}/escalate",
        idempotency_key="k", revision="1", reason_code="high_value", note="Somebody has to look at this one.",
    )  # fmt: skip
    seen = pages(app, browser, operation_id)
    assert len(seen) > 15
    assert [address for address, text in seen.items() if EMAIL in text or IBAN in text] == []
    assert MASKED in seen[f"/operations/{operation_id}"]


def test_a_masked_value_in_the_words_of_people_stays_out_of_the_audit_log_on_screen_and_in_files(
    sqlite_database: Database, sign_in: SignIn, operation_id: str
) -> None:
    browser = sign_in(Role.MANAGER)
    browser.send(f"/operations/{operation_id}/notes", idempotency_key="note-1", note=f"Called {EMAIL} today.")
    said = {"note": f"{EMAIL} wants her money back.", "reference": EMAIL, "reason_code": "customer_request"}
    browser.send(f"/operations/{operation_id}/escalate", idempotency_key="k", revision="1", **said)
    with reading(sqlite_database) as session:
        found = session.scalars(sa.select(AuditEntry.seq).where(AuditEntry.reason.contains(EMAIL))).all()
    paths = ("/audit", *(f"/audit/{seq}" for seq in found), "/audit.jsonl", "/audit.csv")
    answers = {path: browser.get(path).text for path in paths}
    assert len(found) == 2
    assert [path for path, text in answers.items() if EMAIL in text] == []
    assert (MASKED in answers["/audit"], answers["/audit.jsonl"].count('"withheld":"masked"')) == (True, 2)


def test_no_answer_of_the_api_holds_a_masked_value(app: Flask, sqlite_database: Database, operation_id: str) -> None:
    program = Program(FlaskClient(app), make_token(sqlite_database))
    rules = [rule for rule in app.extensions["dashboard.api"].url_map.iter_rules() if "GET" in (rule.methods or ())]
    paths = [rule.rule.removeprefix("/api/v1") for rule in rules if rule.arguments <= {"operation_id"}]
    answers = {path: program.get(re.sub(r"<[^>]*operation_id>", operation_id, path)) for path in paths}
    assert sum(answer.status_code == 200 for answer in answers.values()) >= 4
    assert [path for path, answer in answers.items() if EMAIL in answer.text or IBAN in answer.text] == []
    assert MASKED in answers["/operations/<operation_id>"].json["expected"]["customer"]["email"]


def test_what_the_api_answered_a_worker_is_not_shown_to_people(
    app: Flask, sqlite_database: Database, sign_in: SignIn, operation_id: str
) -> None:
    """A claim is answered with the whole expectation, under a key whose operation no policy is about."""
    with transaction(sqlite_database) as session:
        session.execute(sa.update(Operation).values(state="pending", next_attempt_at=factories.NOW))
    worker = Program(FlaskClient(app), make_token(sqlite_database))
    assert EMAIL in worker.post("/claims", {"types": ["charge_order"]}).text
    with reading(sqlite_database) as session:
        record = session.scalars(sa.select(IdempotencyRecord).where(IdempotencyRecord.operation == "api:claim")).one()
    page = sign_in(Role.SUPPORT).get(f"/idempotency/{record.id}").text
    assert (EMAIL in page, IBAN in page) == (False, False)
    assert "An answer of this API to a program" in page


def test_what_is_decided_is_kept_without_masked_values(
    sqlite_database: Database, sign_in: SignIn, operation_id: str
) -> None:
    sign_in("manager").send(
        f"/operations/{operation_id}/close",
        idempotency_key="k", revision="1", reason_code="duplicate", note="The second of two equal orders.",
    )  # fmt: skip
    with reading(sqlite_database) as session:
        stored = session.scalars(sa.select(AuditEntry.evidence).where(AuditEntry.subject == operation_id)).all()
    assert stored
    assert EMAIL not in str(stored)
    assert MASKED in str(stored)


def test_a_reveal_shows_one_field_to_one_person(sign_in: SignIn, operation_id: str) -> None:
    revealing, other = sign_in("operator"), sign_in("operator")
    assert send(revealing, operation_id) == 303
    page = text_of(revealing.page(f"/operations/{operation_id}"))
    assert EMAIL in page
    assert IBAN not in page
    assert EMAIL not in text_of(other.page(f"/operations/{operation_id}"))


def test_a_reveal_reaches_the_stored_answer(sqlite_database: Database, sign_in: SignIn, operation_id: str) -> None:
    browser = sign_in("operator")
    send(browser, operation_id, field="iban")
    with reading(sqlite_database) as session:
        number = session.scalar(sa.select(IdempotencyRecord.id).where(IdempotencyRecord.key == "key-452"))
    page = text_of(browser.page(f"/idempotency/{number}"))
    assert IBAN in page
    assert EMAIL not in page


def test_a_reveal_ends(sqlite_database: Database, sign_in: SignIn, operation_id: str) -> None:
    browser = sign_in("operator")
    send(browser, operation_id)
    with reading(sqlite_database) as session:
        past = session.scalars(sa.select(Reveal.revealed_at)).one() - timedelta(minutes=10)
    transact(sqlite_database, lambda session: session.execute(sa.update(Reveal).values(ends_at=past)))
    assert EMAIL not in text_of(browser.page(f"/operations/{operation_id}"))


def test_who_revealed_what_is_known_to_all_who_see_the_operation(
    sqlite_database: Database, sign_in: SignIn, operation_id: str
) -> None:
    send(sign_in("operator"), operation_id)
    words = text_of(sign_in("support").page(f"/operations/{operation_id}"))
    assert "expected.customer.email operator-1@shop.example" in words
    with reading(sqlite_database) as session:
        entry = session.scalars(sa.select(AuditEntry).where(AuditEntry.action == "reveal")).one()
    assert (entry.subject, entry.outcome, entry.reason) == (operation_id, "done", REASON)
    assert json.loads(entry.evidence or "")["field"] == "expected.customer.email"
    assert EMAIL not in str(vars(entry))
    page = sign_in("manager").page("/audit?action=reveal")
    assert "operator-1@shop.example" in text_of(page)


def test_the_same_form_reveals_once(sqlite_database: Database, sign_in: SignIn, operation_id: str) -> None:
    browser = sign_in("operator")
    assert [send(browser, operation_id), send(browser, operation_id)] == [303, 303]
    assert send(browser, operation_id, field="iban") == 422
    with reading(sqlite_database) as session:
        assert session.scalar(sa.select(sa.func.count()).select_from(Reveal)) == 1


@pytest.mark.parametrize(
    "values", [{"note": "too short"}, {"note": "x" * 30}, {"field": "order"}, {"field": ""}, {"idempotency_key": "ä"}]
)
def test_a_bad_form_reveals_nothing_and_is_given_back(
    sqlite_database: Database, sign_in: SignIn, operation_id: str, values: dict[str, str]
) -> None:
    assert send(sign_in("operator"), operation_id, **values) == 422
    with reading(sqlite_database) as session:
        assert session.scalar(sa.select(sa.func.count()).select_from(Reveal)) == 0


def test_a_form_that_came_back_after_signing_in_reveals_nothing(sign_in: SignIn, operation_id: str) -> None:
    browser = sign_in("operator")
    answer = browser.send(f"/operations/{operation_id}/reveal", field="iban", note=REASON)
    assert (answer.status_code, REASON in answer.text) == (422, True)


def test_only_who_may_reveal_does(sqlite_database: Database, sign_in: SignIn, operation_id: str) -> None:
    assert send(sign_in("support"), operation_id) == 403
    assert send(sign_in("admin"), operation_id) == 403
    assert send(sign_in(None, Grant(Role.OPERATOR, "shop-jp")), operation_id) == 404
    mixed = sign_in(None, Grant(Role.SUPPORT, "tienda-es"), Grant(Role.OPERATOR, "shop-jp"))
    assert send(mixed, operation_id) == 403
    with reading(sqlite_database) as session:
        refused = sa.select(AuditEntry.outcome).where(AuditEntry.action == "reveal")
        assert set(session.scalars(refused)) == {"refused"}


def test_an_operation_without_masks_has_nothing_to_reveal(sqlite_database: Database, sign_in: SignIn) -> None:
    other = transact(sqlite_database, lambda session: factories.operation(session, type="send_fax").operation_id)
    browser = sign_in("operator")
    assert browser.get(f"/operations/{other}/reveal").status_code == 404
    assert "Reveal a masked field" not in text_of(browser.page(f"/operations/{other}"))
