"""The review of a month: each figure leads to exactly the rows it counts, within what the person reviews."""

from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlsplit
from xml.etree.ElementTree import Element

import pytest

from dashboard.db import Database, transact
from dashboard.domain.permissions import Grant, Role
from dashboard.models import Action, Approval, AuditEntry
from dashboard.services import audit
from tests import factories
from tests.import_file import ACTOR
from tests.web.client import PageClient, parse, text_of
from tests.web.conftest import SignIn

AT = datetime(2026, 11, 15, 10, tzinfo=UTC)
MONTH = "/reports?month=2026-11"


def asked(database: Database, *votes: tuple[str, str], operation: dict[str, Any] | None = None, **values: Any) -> int:
    """An action as it was asked for, with the votes on it."""

    def unit(session: Any) -> int:
        about = factories.operation(session, **(operation or {}))
        number = len(session.query(Action).all())
        row = Action(
            **{
                "operation_id": about.id, "tenant": about.tenant, "type": about.type, "action": "close",
                "state": "executed", "idempotency_key": f"k{number}", "revision": 1, "reason_code": "duplicate",
                "note": factories.NOTE, "risk": "low", "snapshot": {}, "requested_by": "ana@shop.example",
                "requested_at": AT, "executed_at": AT + timedelta(minutes=5), **values,
            }
        )  # fmt: skip
        session.add(row)
        session.flush()
        for voter, vote in votes:
            session.add(
                Approval(
                    action_id=row.id, voter=voter, voter_kind="user", vote=vote, binding="0" * 64,
                    idempotency_key=f"{number}{voter}", at=AT,
                )
            )  # fmt: skip
        return row.id

    return transact(database, unit)


@pytest.fixture
def november(sqlite_database: Database) -> Database:
    """Nine actions of November, and one at either end that belongs to another month."""
    database = sqlite_database
    asked(database)
    asked(database, requested_by="ben@shop.example", action="requeue", reason_code="override", outcome="to_verify",
          needed=1)  # fmt: skip
    asked(database, ("ben@shop.example", "approve"), action="requeue", outcome="verified", needed=1,
          executed_at=AT + timedelta(hours=2))  # fmt: skip
    asked(database, ("ben@shop.example", "reject"), state="rejected", executed_at=None, needed=1,
          ended_at=AT + timedelta(hours=9))  # fmt: skip
    asked(database, action="compensate", outcome="no_effect")
    asked(database, action="compensate", outcome="duplicated")
    asked(database, action="reopen", reason_code="new_evidence")
    asked(database, operation={"type": "send_fax"})
    asked(database, operation={"tenant": "shop-jp"})
    asked(database, requested_at=datetime(2026, 10, 31, 23, 59, 59, 999999, tzinfo=UTC))
    asked(database, requested_at=datetime(2026, 12, 1, tzinfo=UTC))
    return database


def figures(page: Element) -> list[tuple[int, str]]:
    """Each number that leads to actions, with its address."""
    links = [link for link in page.iter("a") if (link.get("href") or "").startswith("/actions?")]
    return [(int(number.get("value", "")), link.get("href", "")) for link in links for number in link.iter("data")]


def listed(browser: PageClient, address: str) -> int:
    page = browser.page(f"{address}&limit=200")
    return len([row for row in page.iter("tr") if row.get("data-action-id") or row.get("data-operation-id")])


@pytest.mark.parametrize(
    "grants", [(Grant(Role.MANAGER),), (Grant(Role.MANAGER, "tienda-es"), Grant(Role.SUPPORT, "shop-jp"))]
)
def test_every_figure_leads_to_the_rows_it_counts(
    november: Database, sign_in: SignIn, grants: tuple[Grant, ...]
) -> None:
    browser = sign_in(None, *grants)
    found = figures(browser.page(MONTH))
    assert len(found) > 20
    assert [(address, count) for count, address in set(found) if listed(browser, address) != count] == []


def test_a_month_is_counted_by_person_and_outcome(november: Database, sign_in: SignIn) -> None:
    words = text_of(sign_in("manager").page(MONTH))
    assert "Asked for 9" in words
    assert "ana@shop.example 8 7 1 0 0 1 1 1" in words
    assert "ben@shop.example 1 1 0 1 1 0 0 0" in words
    assert "ana@shop.example ben@shop.example 1 1" in words


def test_the_time_to_a_decision_counts_proposals_that_were_decided(november: Database, sign_in: SignIn) -> None:
    words = text_of(sign_in("manager").page(MONTH))
    assert "Half decided within 2 h of 3 decided proposals" in words
    assert "95 of 100 decided within 9 h of 3 decided proposals" in words


def test_what_was_reopened_names_who_had_ended_it(sqlite_database: Database, sign_in: SignIn) -> None:
    asked(sqlite_database, operation={"operation_id": "op-again"}, requested_by="ben@shop.example")

    def reopen(session: Any) -> None:
        first = session.query(Action).one()
        values = {name: getattr(first, name) for name in ("operation_id", "tenant", "type", "state", "revision")}
        session.add(
            Action(**values, action="reopen", idempotency_key="again", reason_code="new_evidence", note=factories.NOTE,
                   risk="low", snapshot={}, requested_by="ana@shop.example", requested_at=AT + timedelta(days=1),
                   executed_at=AT + timedelta(days=1))
        )  # fmt: skip

    transact(sqlite_database, reopen)
    page = sign_in("manager").page(MONTH)
    rows = [text_of(row) for row in page.iter("tr") if "op-again" in text_of(row)]
    assert len(rows) == 1
    assert rows[0].startswith("op-again ana@shop.example")
    assert rows[0].endswith("ben@shop.example Close")


def test_a_manager_reviews_their_scope_only(november: Database, sign_in: SignIn) -> None:
    words = text_of(sign_in(None, Grant(Role.MANAGER, "shop-jp")).page(MONTH))
    assert "Asked for 1 " in words
    assert "send_fax" not in words


def test_an_admin_reviews_without_links_to_operations(november: Database, sign_in: SignIn) -> None:
    page = sign_in("admin").page(MONTH)
    assert "Asked for 9" in text_of(page)
    assert figures(page) == []


def test_an_empty_month_says_so(sign_in: SignIn) -> None:
    assert "Nothing was asked for" in text_of(sign_in("manager").page("/reports?month=2020-02"))


@pytest.mark.parametrize("month", ["2026-13", "2026", "yesterday", "0000-01", "9999-12", "2026-1"])
def test_what_is_no_month_is_told(sign_in: SignIn, month: str) -> None:
    assert sign_in("manager").get(f"/reports?month={month}").status_code in {400, 422}


@pytest.mark.parametrize("role", [Role.SUPPORT, Role.OPERATOR])
def test_only_who_reviews_a_scope_sees_reports(sign_in: SignIn, role: Role) -> None:
    assert sign_in(role).get(MONTH).status_code == 403


def test_a_month_begins_and_ends_in_the_zone_of_the_person(november: Database, sign_in: SignIn) -> None:
    browser = sign_in("manager")
    browser.send("/account", timezone="Asia/Tokyo", locale="en", theme="system")
    assert "Asked for 10" in text_of(browser.page(MONTH))


def test_the_table_has_the_same_counts_and_is_an_entry(november: Database, sign_in: SignIn) -> None:
    answer = sign_in("manager").get("/reports.csv?month=2026-11")
    rows = [row.split(",") for row in answer.text.splitlines()]
    assert rows[0] == ["month", "person", "type", "action", "state", "outcome", "override", "times"]
    assert sum(int(row[-1]) for row in rows[1:]) == 9
    assert answer.headers["Cache-Control"] == "no-store"
    entries = transact(november, lambda session: [row.action for row in session.query(AuditEntry)])
    assert entries[-1] == "report_export"


def test_reveals_are_counted_and_lead_to_their_entries(sqlite_database: Database, sign_in: SignIn) -> None:
    transact(
        sqlite_database,
        lambda session: audit.append(session, actor=ACTOR, action="reveal", subject="op-1", now=AT, tenant="tienda-es"),
    )
    browser = sign_in("manager")
    link = next(link for link in browser.page(MONTH).iter("a") if text_of(link) == "1 field")
    assert urlsplit(link.get("href") or "").path == "/audit"
    assert "1 entry" in text_of(parse(browser.get(link.get("href") or "").text))
