"""The OpenAPI document tells the truth: every operation is called with data that fits it and data that does not."""

import shutil
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any
from wsgiref.types import StartResponse, WSGIEnvironment

import pytest
import schemathesis
from flask import Flask
from hypothesis import strategies as st
from schemathesis import Case
from sqlalchemy import event, update

from dashboard.db import Database, transact
from dashboard.models import ApiToken
from dashboard.services.tokens import PREFIX
from tests import factories
from tests.api.conftest import application, make_token

SECRET = "ops_of_the_contract_and_of_nothing_else"
# A cursor is opaque; one that nobody gave fits the schema and leads nowhere (422).
schemathesis.openapi.format("cursor", st.sampled_from(["WyJuZXdlc3QiXQ", "nowhere"]))
# Times before 1900 are refused.
times = st.datetimes(datetime(1971, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001 - as hypothesis wants it
schemathesis.openapi.format("date-time", times.map(datetime.isoformat))
# 422 says that the data fits the schema and breaks a rule that no schema can say.
FITS = ["2xx", "403", "404", "409", "422", "429"]
REFUSED = ["400", "401", "403", "404", "405", "409", "413", "415", "422", "429"]
CONFIGURATION = {
    "seed": 1,
    "generation": {"deterministic": True, "max-examples": 5, "mode": "all", "database": "none"},
    "auth": {"openapi": {"bearer": {"bearer": SECRET}}},
    "checks": {
        "positive_data_acceptance": {"expected-statuses": FITS},
        "negative_data_rejection": {"expected-statuses": REFUSED},
    },
}


class Place:
    """Stands where the application of the test at hand answers: the document is read before there is any test."""

    def __init__(self, app: Flask) -> None:
        self.app = app

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        return self.app.wsgi_app(environ, start_response)


place = Place(application(Database("sqlite:///never-opened.sqlite3")))
contract = schemathesis.openapi.from_wsgi(
    "/api/v1/openapi.json", place, config=schemathesis.Config.from_dict(CONFIGURATION)
)


@pytest.fixture(scope="module")
def api(sqlite_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    path = shutil.copy(sqlite_template, tmp_path_factory.mktemp("contract") / "contract.sqlite3")
    database = Database(f"sqlite:///{path}")
    event.listen(database.engine, "connect", lambda connection, _record: connection.execute("PRAGMA synchronous=OFF"))
    transact(database, lambda session: factories.operation(session, operation_id="order-1").id)
    make_token(database, name="contract")
    known = update(ApiToken).values(prefix=SECRET[:PREFIX], secret_hash=sha256(SECRET.encode()).hexdigest())
    transact(database, lambda session: session.execute(known))
    place.app = application(database)
    yield
    database.dispose()


@contract.parametrize()
def test_the_api_does_what_its_document_says(api: None, case: Case[Any]) -> None:
    case.call_and_validate()
