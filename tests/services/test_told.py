"""What the engine tells in its logs, by which one operation can be followed through all of it."""

import json
import logging
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from sqlalchemy.exc import IntegrityError

from dashboard.app import create_app
from dashboard.config import Settings
from dashboard.db import Database, transact
from dashboard.logs import formatter
from dashboard.services.relay import run_once
from tests import factories
from tests.receivers import SECRET, SECRET_ENV, webhook_receiver
from tests.reconciling import Payments


class Kept(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.lines: list[Mapping[str, Any]] = []
        self.setFormatter(formatter(terminal=False))

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(json.loads(self.format(record)))


@pytest.fixture
def told(caplog: pytest.LogCaptureFixture) -> Iterator[list[Mapping[str, Any]]]:
    kept, log = Kept(), logging.getLogger("dashboard")
    log.addHandler(kept)
    with caplog.at_level(logging.INFO, "dashboard"):
        yield kept.lines
    log.removeHandler(kept)


def test_a_look_names_operation_correlation_and_run(local_payments: Payments, told: list[Mapping[str, Any]]) -> None:
    payments = local_payments
    payments.sent(correlation_id="checkout-9")
    payments.shows()
    run = payments.reconcile()
    (line,) = told
    assert (line["operation_id"], line["correlation_id"], line["run_id"]) == ("op-1", "checkout-9", run)
    assert (line["verdict"], line["applied"], line["logger"]) == ("correct", True, "dashboard.reconciler")


def test_a_message_that_was_not_taken_names_its_operation(
    sqlite_database: Database, told: list[Mapping[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(SECRET_ENV, SECRET)
    number = transact(sqlite_database, lambda session: factories.operation(session, operation_id="pay-452").id)
    transact(sqlite_database, lambda session: factories.message(session, n=0, operation_id=number).id)
    with webhook_receiver() as receiver:
        receiver.answer = lambda _delivery: 500
        run_once(sqlite_database, sinks={"hook": receiver.sink()})
    line = next(line for line in told if line["event"] == "not published")
    assert (line["operation_id"], line["sink"], line["level"]) == ("pay-452", "hook", "warning")
    assert line["message_id"]


def test_an_answer_names_its_request_and_never_what_was_searched(
    sqlite_database: Database, told: list[Mapping[str, Any]]
) -> None:
    browser = create_app(Settings(demo=True), database=sqlite_database).test_client()
    browser.get("/operations/pay-452?q=anna@shop.example", headers={"X-Request-ID": "from-the-proxy-1"})
    browser.get("/api/v1/operations/pay-453", headers={"X-Request-ID": "from-the-proxy-2"})
    browser.get("/healthz")
    page, call = told
    assert (page["request_id"], page["operation_id"], page["status"]) == ("from-the-proxy-1", "pay-452", 302)
    assert (call["request_id"], call["operation_id"], call["path"]) == (
        "from-the-proxy-2",
        "pay-453",
        "/api/v1/operations/pay-453",
    )
    assert "anna" not in json.dumps(told)


def test_a_failed_statement_is_told_without_its_values(sqlite_database: Database) -> None:
    transact(sqlite_database, lambda session: factories.operation(session, operation_id="pay-452").id)
    with pytest.raises(IntegrityError) as raised:
        transact(
            sqlite_database, lambda session: factories.operation(session, operation_id="pay-452", entity_id="Anna")
        )
    assert "INSERT INTO operations" in str(raised.value)
    assert "Anna" not in str(raised.value)
