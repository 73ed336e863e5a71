"""The policy screens: every type in sentences, and what is not covered."""

from pathlib import Path

import pytest
from flask import Flask
from pydantic import SecretStr
from sqlalchemy import func, select

from dashboard.config import Settings
from dashboard.db import Database, reading, transact
from dashboard.domain.permissions import Grant, Role
from dashboard.models import AuditEntry, PolicyVersion
from tests import factories
from tests.web.client import heading, text_of
from tests.web.conftest import SignIn

SAMPLE = Path(__file__).parents[1] / "samples" / "policies.toml"
CHARGER = Grant(Role.OPERATOR, None, "charge")


@pytest.fixture
def settings() -> Settings:
    return Settings(secret_key=SecretStr("a secret of the tests"), cookie_secure=False, policies=SAMPLE)


def add(database: Database, **values: object) -> None:
    transact(database, lambda session: factories.operation(session, **values))


def test_each_type_is_one_row(sign_in: SignIn) -> None:
    page = sign_in("support").page("/policies")
    names = [row.find(".//a") for row in page.iter("tr")][1:]
    assert [text_of(name) for name in names if name is not None][:3] == ["charge", "refund", "reserve"]
    assert "Asked over HTTP" in text_of(page)


def test_open_work_is_counted_and_leads_to_its_rows(sign_in: SignIn, sqlite_database: Database) -> None:
    add(sqlite_database, type="charge")
    add(sqlite_database, type="charge", state="confirmed")
    page = sign_in("support").page("/policies")
    (figure,) = [
        link for link in page.iter("a") if link.find("data") is not None and "type=charge" in link.get("href", "")
    ]
    assert text_of(figure) == "1"


def test_a_type_that_is_open_but_not_named_is_not_covered(sign_in: SignIn, sqlite_database: Database) -> None:
    add(sqlite_database, type="mystery/<b>")
    browser = sign_in("support")
    assert "Not covered" in text_of(browser.page("/policies"))
    page = text_of(browser.page("/policies/mystery/<b>"))
    assert "The policy file does not name this type." in page
    assert "It cannot be asked" in page


def test_a_type_is_explained(sign_in: SignIn) -> None:
    page = text_of(sign_in("manager").page("/policies/charge"))
    for words in (
        "One payment of the order's amount exists.",
        "More than 5 operations need a person, for 10 min.",
        "GET /payments?reference={operation_id} at card",
        "It is checked 30 s after sending",
        "It is sent again while attempts are left",
        "Compensate: one other person must approve.",
        "Above €500.00 a manager must approve.",
        "It is undone by refund.",
        "within 5 min",
    ):
        assert words in page


@pytest.mark.parametrize("name", ["refund", "reserve", "pay_out", "notify", "book", "archive"])
def test_every_kind_of_policy_has_a_page(sign_in: SignIn, name: str) -> None:
    assert name in text_of(sign_in("support").page(f"/policies/{name}"))


def test_a_person_sees_the_types_of_their_grants(sign_in: SignIn, sqlite_database: Database) -> None:
    add(sqlite_database, type="mystery")
    browser = sign_in(None, CHARGER)
    page = text_of(browser.page("/policies"))
    assert "charge" in page
    assert "refund" not in page
    assert "mystery" not in page
    assert browser.get("/policies/refund").status_code == 404
    assert browser.get("/policies/mystery").status_code == 404


def test_an_unknown_type_is_not_found(sign_in: SignIn) -> None:
    answer = sign_in("support").get("/policies/nowhere")
    assert (answer.status_code, heading(answer)) == (404, "Not found")


def test_looking_keeps_no_version(app: Flask, sign_in: SignIn, sqlite_database: Database) -> None:
    browser = sign_in("support")
    kept = versions(sqlite_database)
    browser.page("/policies")
    assert versions(sqlite_database) == kept


def test_the_version_is_kept_once_before_anything_is_decided(sign_in: SignIn, sqlite_database: Database) -> None:
    sign_in("support")
    sign_in("operator")
    with reading(sqlite_database) as session:
        audited = session.scalar(select(func.count()).where(AuditEntry.action == "policy_version"))
    assert (versions(sqlite_database), audited) == (1, 1)


def versions(database: Database) -> int:
    with reading(database) as session:
        return session.scalar(select(func.count()).select_from(PolicyVersion)) or 0
