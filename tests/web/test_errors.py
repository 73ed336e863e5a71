from collections.abc import Callable

import pytest
from flask import Blueprint, Flask
from sqlalchemy import select

from dashboard.db import Database
from dashboard.domain.errors import (
    InvalidInputError,
    LostRaceError,
    NotAllowedError,
    NotFoundError,
    OperationsError,
    Problem,
)
from dashboard.models import User
from dashboard.services import schema
from dashboard.web.context import public, read
from tests.web.client import PageClient, heading
from tests.web.conftest import SignIn


def test_an_unknown_address_is_not_found_for_everybody(client: PageClient, sign_in: SignIn) -> None:
    for browser in (client, sign_in("support")):
        answer = browser.get("/no-such-page")
        assert (answer.status_code, heading(answer)) == (404, "Not found")
        assert answer.headers["X-Request-ID"] in answer.text


def test_a_method_that_is_not_taken_names_those_that_are(sign_in: SignIn) -> None:
    answer = sign_in("support").get("/account/password")
    assert (answer.status_code, heading(answer)) == (405, "Not possible here")
    assert "POST" in answer.headers["Allow"]


@pytest.mark.parametrize(
    ("error", "status", "words"),
    [
        (NotFoundError(), 404, "There is nothing at this address, or not for you."),
        (NotAllowedError(permission="execute"), 403, "Your role does not allow this."),
        (LostRaceError(), 409, "Nothing was overwritten."),
        (InvalidInputError((Problem("note", "note_missing"),)), 422, "Some fields need another look."),
        (OperationsError("compensation_exists", operation_id="refund-1"), 400, "refund-1"),
        (OperationsError("never_heard_of"), 400, "never_heard_of"),
    ],
)
def test_a_refusal_becomes_a_status_and_words(app: Flask, error: OperationsError, status: int, words: str) -> None:
    answer = failing(app, error).get("/fails")
    assert answer.status_code == status
    assert words in answer.text


def test_a_fault_shows_the_request_id_and_nothing_of_the_code(app: Flask, caplog: pytest.LogCaptureFixture) -> None:
    answer = failing(app, RuntimeError("inner words")).get("/fails")
    assert (answer.status_code, heading(answer)) == (500, "Something went wrong on our side")
    assert answer.headers["X-Request-ID"] in answer.text
    assert "inner words" not in answer.text
    assert "inner words" in caplog.text


def test_text_that_cannot_be_stored_is_a_bad_request(app: Flask) -> None:
    def search() -> str:
        with read() as session:
            return str(session.scalar(select(User.id).where(User.email == "a\x00b")))

    answer = serving(app, search).get("/fails")
    assert answer.status_code == 400


def test_without_its_database_the_application_says_so(app: Flask, client: PageClient, tmp_path: object) -> None:
    assert client.get("/readyz").status_code == 200
    app.extensions["dashboard.database"] = Database("sqlite:////no/such/folder/file.sqlite3")
    assert (client.get("/healthz").status_code, client.get("/readyz").status_code) == (200, 503)
    answer = client.post("/login", data={"csrf_token": client.token(), "email": "a@b", "password": "c"})
    assert (answer.status_code, heading(answer)) == (503, "The database does not answer")


def test_a_database_of_another_release_is_not_ready(client: PageClient, sqlite_database: Database) -> None:
    schema.downgrade(sqlite_database, "-1")
    assert client.get("/readyz").status_code == 503


def failing(app: Flask, error: Exception) -> PageClient:
    def fail() -> str:
        raise error

    return serving(app, fail)


def serving(app: Flask, view: Callable[[], str]) -> PageClient:
    blueprint = Blueprint("fails", __name__)
    blueprint.add_url_rule("/fails", "view", public(view))
    app.register_blueprint(blueprint)
    client = app.test_client()
    assert isinstance(client, PageClient)
    return client
