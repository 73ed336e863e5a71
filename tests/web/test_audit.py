"""The audit log on screen: who reads what, and a verification whose result everybody can find again."""

import json
from xml.etree.ElementTree import Element

import pytest

from dashboard.db import Database, transact
from dashboard.domain.permissions import Actor, Grant, Role
from dashboard.domain.states import ActorKind
from dashboard.models import AuditEntry
from dashboard.services import audit
from tests import factories
from tests.services.tampering import entry, tamper
from tests.web.client import PageClient, heading, parse, text_of
from tests.web.conftest import SignIn

HOSTILE = "<script>alert(1)</script>\u202egnp\0"


def append(database: Database, **values: object) -> int:
    filled = {"actor": SOMEBODY, "action": "requeue", "subject": "op-1", "now": factories.NOW, **values}
    return transact(database, lambda session: audit.append(session, **filled))  # type: ignore[arg-type]


SOMEBODY = Actor(ActorKind.USER, "somebody@shop.example", address="203.0.113.7", request_id="request-1")


def numbers(page: Element) -> list[int]:
    return [int(row.get("data-seq", "")) for row in page.iter("tr") if row.get("data-seq")]


def notice(page: Element) -> str:
    found = [text_of(each) for each in page.iter("div") if (each.get("class") or "").startswith("notice ")]
    return " ".join(found)


def last(database: Database) -> AuditEntry:
    return entry(database, transact(database, lambda session: len(session.query(AuditEntry).all())))


@pytest.mark.parametrize("role", [Role.SUPPORT, Role.OPERATOR])
def test_support_and_operators_read_their_own_entries(sqlite_database: Database, sign_in: SignIn, role: Role) -> None:
    foreign = append(sqlite_database, tenant="tienda-es", type="charge_order")
    browser = sign_in(role)
    page = browser.page("/audit")
    assert foreign not in numbers(page)
    assert numbers(page)
    assert browser.get(f"/audit/{foreign}").status_code == 404
    assert "Verify the whole log" not in text_of(page)


def test_a_manager_reads_what_is_in_scope(sqlite_database: Database, sign_in: SignIn) -> None:
    inside = append(sqlite_database, tenant="tienda-es", type="charge_order")
    outside = append(sqlite_database, tenant="shop-jp", type="charge_order")
    browser = sign_in(None, Grant(Role.MANAGER, "tienda-es"))
    shown = numbers(browser.page("/audit"))
    assert inside in shown
    assert outside not in shown
    assert browser.get(f"/audit/{outside}").status_code == 404


@pytest.mark.parametrize("role", [Role.MANAGER, Role.ADMIN])
def test_managers_of_all_and_admins_read_everything(sqlite_database: Database, sign_in: SignIn, role: Role) -> None:
    foreign = append(sqlite_database, tenant="shop-jp", type="charge_order")
    assert foreign in numbers(sign_in(role).page("/audit"))


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("action=close", ["close"]),
        ("action=close&action=requeue", ["close", "requeue"]),
        ("outcome=refused", ["close"]),
        ("subject=op-2", ["close"]),
        ("subject=OP-2", []),
        ("actor=somebody@shop.example", ["close", "requeue"]),
        ("since=2026-11-30&until=2026-12-01", ["close", "requeue"]),
        ("until=2026-11-30", []),
    ],
)
def test_filters(sqlite_database: Database, sign_in: SignIn, query: str, found: list[str]) -> None:
    append(sqlite_database)
    append(sqlite_database, action="close", subject="op-2", outcome=audit.REFUSED)
    query = query if "actor" in query else f"{query}&actor=somebody@shop.example"
    page = sign_in("manager").page(f"/audit?{query}")
    assert [entry(sqlite_database, number).action for number in numbers(page)] == found


@pytest.mark.parametrize("query", ["action=nonsense", "outcome=x", "since=yesterday", "after=broken", "subject=%00"])
def test_what_cannot_be_read_is_told(sign_in: SignIn, query: str) -> None:
    assert sign_in("manager").get(f"/audit?{query}").status_code == 400


def test_pages_show_every_entry_once_both_ways(sqlite_database: Database, sign_in: SignIn) -> None:
    written = [append(sqlite_database) for _ in range(7)]
    browser = sign_in("manager")
    there, back = walk(browser, "next"), walk(browser, "prev", start=walk(browser, "next")[1])
    assert sorted(there[0])[: len(written)] == written
    assert len(there[0]) == len(set(there[0]))
    assert set(back[0]) == set(there[0])


def walk(browser: PageClient, rel: str, start: str = "/audit?limit=3") -> tuple[list[int], str]:
    """All numbers on the pages that follow each other, and the address of the last of them."""
    found: list[int] = []
    address: str | None = start
    while address:
        page, here = browser.page(address), address
        found += numbers(page)
        address = next((link.get("href") for link in page.iter("a") if link.get("rel") == rel), None)
    return found, here


def test_an_entry_shows_all_it_holds_as_text(sqlite_database: Database, sign_in: SignIn) -> None:
    seq = append(
        sqlite_database,
        tenant="tienda-es",
        type="charge_order",
        before={"state": "manual_review", "left": HOSTILE},
        after={"state": "retry_scheduled", "right": "\ud800"},
        reason=HOSTILE,
        evidence={"note": HOSTILE, "deep": {"list": [1, "\udfff"]}},
    )
    page = sign_in("manager").page(f"/audit/{seq}")
    words = text_of(page)
    assert "state manual_review retry_scheduled Changed" in words
    assert "<script>alert(1)</script>\\u202egnp" in words
    assert entry(sqlite_database, seq).hash in words
    assert any(link.get("href") == "/operations/op-1" for link in page.iter("a"))


def test_an_admin_gets_no_link_to_an_operation_they_may_not_open(sqlite_database: Database, sign_in: SignIn) -> None:
    seq = append(sqlite_database, tenant="tienda-es", type="charge_order")
    page = sign_in("admin").page(f"/audit/{seq}")
    assert not any((link.get("href") or "").startswith("/operations/") for link in page.iter("a"))


def test_neighbours_lead_past_what_is_not_for_the_reader(sqlite_database: Database, sign_in: SignIn) -> None:
    browser = sign_in("support")
    append(sqlite_database)
    mine = numbers(browser.page("/audit"))
    page = browser.page(f"/audit/{mine[0]}")
    assert not [link for link in page.iter("a") if link.get("rel") == "next"]


def test_verify_says_intact_and_is_an_entry_itself(sqlite_database: Database, sign_in: SignIn) -> None:
    append(sqlite_database)
    browser = sign_in("manager")
    checked = last(sqlite_database).seq
    answer = browser.send("/audit/verify")
    assert (answer.status_code, answer.location) == (303, f"/audit/{checked + 1}")
    assert f"Intact: {checked} entries" in notice(browser.page(answer.location))
    written = last(sqlite_database)
    assert (written.action, written.outcome, json.loads(written.evidence or "")["checked"]) == (
        "audit_verify",
        "done",
        checked,
    )
    assert f"Intact: {checked} entries" in text_of(browser.page("/audit"))


def test_verify_names_the_first_broken_entry_and_what_to_do(sqlite_database: Database, sign_in: SignIn) -> None:
    for _ in range(3):
        append(sqlite_database)
    browser = sign_in("admin")
    tamper(sqlite_database, "UPDATE audit_log SET reason = 'x' WHERE seq = 2")
    page = browser.page(browser.send("/audit/verify").location or "")
    assert "Broken: Entry 2 was changed after it was written." in notice(page)
    assert "The 1 entry before it agrees." in notice(page)
    assert "keep a copy" in notice(page)
    assert "Broken: Entry 2" in notice(browser.page("/audit"))


@pytest.mark.parametrize(
    ("statement", "title"),
    [
        ("DELETE FROM audit_log WHERE seq = 2", "Entry 2 is missing."),
        ("DELETE FROM audit_log WHERE seq > 2", "The log ends before entry 3: the end was cut off."),
        ("DELETE FROM audit_head", "The head of the log does not agree with its last entry"),
        ("UPDATE audit_head SET seq = 2", "The head of the log does not agree with its last entry"),
    ],
)
def test_every_damage_is_told(sqlite_database: Database, sign_in: SignIn, statement: str, title: str) -> None:
    for _ in range(3):
        append(sqlite_database)
    browser = sign_in("manager")
    tamper(sqlite_database, statement)
    answer = browser.send("/audit/verify")
    assert answer.status_code == 303
    assert title in notice(browser.page(answer.location or ""))


@pytest.mark.parametrize("role", [Role.SUPPORT, Role.OPERATOR])
def test_only_who_reads_a_scope_verifies(sqlite_database: Database, sign_in: SignIn, role: Role) -> None:
    answer = sign_in(role).send("/audit/verify")
    assert (answer.status_code, heading(answer)) == (403, "Not allowed")
    refused = last(sqlite_database)
    assert (refused.action, refused.outcome, refused.subject) == ("request", "refused", "/audit/verify")


def test_a_verification_without_the_token_does_nothing(sqlite_database: Database, sign_in: SignIn) -> None:
    browser = sign_in("manager")
    before = last(sqlite_database).seq
    assert browser.post("/audit/verify").status_code == 400
    assert last(sqlite_database).seq == before


def test_a_query_of_the_list_reads_no_evidence(sqlite_database: Database, sign_in: SignIn) -> None:
    append(sqlite_database, evidence={"note": "only on its own page"}, reason="a" * 500)
    answer = sign_in("manager").get("/audit")
    assert "only on its own page" not in answer.text
    assert "a" * 141 not in answer.text
    assert parse(answer.text) is not None


def test_an_export_leaves_out_what_is_not_for_the_reader(sqlite_database: Database, sign_in: SignIn) -> None:
    append(sqlite_database, tenant="tienda-es", type="charge_order", reason="for them")
    append(sqlite_database, tenant="shop-jp", type="charge_order", reason="not for them")
    browser = sign_in(None, Grant(Role.MANAGER, "tienda-es"))
    answer = browser.get("/audit.jsonl")
    assert (answer.mimetype, answer.headers["Cache-Control"]) == ("application/x-ndjson", "no-store")
    assert "not for them" not in answer.text
    lines = [json.loads(line) for line in answer.text.splitlines()]
    assert [line.get("reason", line.get("withheld")) for line in lines[1:3]] == ["for them", "scope"]
    assert lines[-1]["end"]["last"] == lines[0]["last"]
    table = browser.get("/audit.csv").text
    assert ("for them" in table, "not for them" in table) == (True, False)
    assert [entry(sqlite_database, last(sqlite_database).seq).action] == ["audit_export"]


def test_an_export_holds_the_time_of_the_list(sqlite_database: Database, sign_in: SignIn) -> None:
    append(sqlite_database)
    browser = sign_in("manager")
    page = browser.page("/audit?until=2026-12-01&since=2026-11-30")
    link = next(link.get("href") or "" for link in page.iter("a") if "audit.jsonl" in (link.get("href") or ""))
    assert json.loads(browser.get(link).text.splitlines()[0])["until"].startswith("2026-12-01T00:00:00")
    assert browser.get("/audit.csv?since=yesterday").status_code == 400


def test_a_run_whose_findings_changed_is_told_on_screen(sqlite_database: Database, sign_in: SignIn) -> None:
    append(sqlite_database, action="reconciliation_run", subject="reconciliation run 7", evidence={"digest": "0" * 64})
    browser = sign_in("manager")
    page = browser.page(browser.send("/audit/verify").location or "")
    assert "The findings of reconciliation run 7 are not those that entry" in notice(page)
