"""`POST /evidence/<destination>` as its senders see it."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from flask import Flask
from pydantic import SecretStr

from dashboard.app import create_app
from dashboard.config import Settings
from dashboard.db import Database
from tests.receiving import ENVIRONMENT, POLICY, add_payment, bank_message, items, operation
from tests.web.client import PageClient
from tests.web.conftest import new_client


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    path = tmp_path / "policies.toml"
    path.write_text(POLICY)
    return Settings(secret_key=SecretStr("a secret of the tests"), cookie_secure=False, policies=path)


@pytest.fixture
def sender(settings: Settings, sqlite_database: Database) -> PageClient:
    app: Flask = create_app(settings, database=sqlite_database)
    app.test_client_class = PageClient
    return new_client(app)


def test_a_message_is_answered_200_where_it_fits_and_202_where_it_does_not(
    sender: PageClient, sqlite_database: Database
) -> None:
    paid = add_payment(sqlite_database)
    for event_id, reference, status in (("a", paid, 200), ("b", "nobody", 202), ("b", "nobody", 200)):
        body, headers = bank_message(datetime.now(UTC), event_id, reference=reference, id=event_id, amount="318.93")
        answer = sender.post("/evidence/bank", data=body, headers=headers)
        assert (answer.status_code, answer.mimetype) == (status, "application/json")
    assert operation(sqlite_database, paid).state == "confirmed"


def test_no_session_begins(sender: PageClient) -> None:
    assert "Set-Cookie" not in sender.post("/evidence/bank", data=b"{}").headers


@pytest.mark.parametrize(
    ("path", "status", "code"),
    [("/evidence/nobody", 404, "receipts_unconfigured"), ("/evidence/bank", 401, "signature_missing")],
)
def test_a_refusal_is_a_problem_with_a_stable_code(sender: PageClient, path: str, status: int, code: str) -> None:
    answer = sender.post(path, data=b"{}")
    assert answer.mimetype == "application/problem+json"
    told = json.loads(answer.data)
    assert (answer.status_code, told["status"], told["code"]) == (status, status, code)
    assert told["request_id"] == answer.headers["X-Request-ID"]


def test_what_is_too_large_is_not_read(sender: PageClient, sqlite_database: Database) -> None:
    answer = sender.post("/evidence/bank", data=b"x" * (1024 * 1024 + 1))
    assert (answer.status_code, json.loads(answer.data)["code"]) == (413, "too_large")
    assert items(sqlite_database) == []
