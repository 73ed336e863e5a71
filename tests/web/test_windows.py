"""The window advisor's page."""

from datetime import timedelta
from pathlib import Path

import pytest
from pydantic import SecretStr

from dashboard.config import Settings
from dashboard.db import Database, transaction
from dashboard.domain.permissions import Grant, Role
from tests import factories
from tests.receiving import ENVIRONMENT, POLICY
from tests.web.client import PageClient, text_of
from tests.web.conftest import SignIn
from tests.web.lists import now


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    path = tmp_path / "policies.toml"
    path.write_text(POLICY)
    return Settings(secret_key=SecretStr("a secret of the tests"), cookie_secure=False, policies=path)


def rows(browser: PageClient) -> dict[str, str]:
    page = browser.page("/reconciliation/windows")
    return {row.get("data-type", ""): text_of(row) for row in page.iter("tr") if row.get("data-type")}


def confirm(database: Database, *, after: timedelta, times: int) -> None:
    sent = now() - timedelta(hours=5)
    with transaction(database) as session:
        for _ in range(times):
            row = factories.operation(session, type="pay_supplier", state="confirmed", confirmed_at=sent + after)
            factories.event(
                session, row, at=sent, kind="transition", from_state="processing", to_state="awaiting_confirmation"
            )


def test_a_type_with_few_operations_says_so(sign_in: SignIn) -> None:
    found = rows(sign_in("operator"))
    assert list(found) == ["pay_supplier", "charge_card"]
    assert "Not enough Fewer than 30 were sent." in found["pay_supplier"]


def test_a_window_that_is_too_short_is_told_with_its_numbers(sign_in: SignIn, sqlite_database: Database) -> None:
    confirm(sqlite_database, after=timedelta(minutes=20), times=30)
    told = rows(sign_in("operator"))["pay_supplier"]
    assert "Asks too early 20 min pass until 95 of 100 are confirmed, and the first check comes after 5 min." in told


def test_a_person_of_one_type_sees_that_type(sign_in: SignIn) -> None:
    assert list(rows(sign_in(None, Grant(Role.SUPPORT, None, "charge_card")))) == ["charge_card"]
