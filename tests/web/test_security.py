import pytest
from flask import Flask

from dashboard.app import create_app
from dashboard.config import Settings
from dashboard.db import Database
from dashboard.domain.errors import InvalidInputError
from dashboard.web.frame import static_url
from dashboard.web.security import MAX_BODY
from tests.web.client import PageClient, heading
from tests.web.conftest import PASSWORD, AddUser, SignIn, new_client


def test_the_start_is_refused_without_a_secret_key(sqlite_database: Database) -> None:
    with pytest.raises(InvalidInputError):
        create_app(Settings(secret_key=None), database=sqlite_database)


def test_over_https_the_cookie_belongs_to_this_host_alone(sqlite_database: Database) -> None:
    app = create_app(Settings(demo=True), database=sqlite_database)
    answer = app.test_client().get("/login")
    cookie = answer.headers["Set-Cookie"]
    assert cookie.startswith("__Host-session=")
    assert "Secure" in cookie
    assert "Domain" not in cookie
    assert answer.headers["Strict-Transport-Security"] == "max-age=31536000"


@pytest.mark.parametrize("header", ["X-CSRFToken", "X-CSRF-Token"])
def test_htmx_may_send_the_token_in_a_header(sign_in: SignIn, header: str) -> None:
    browser = sign_in("support")
    assert browser.post("/logout", headers={header: browser.token()}).status_code == 303


def test_the_token_of_another_session_is_refused(sign_in: SignIn) -> None:
    stolen = sign_in("support").token()
    assert sign_in("support").post("/logout", data={"csrf_token": stolen}).status_code == 400


def test_the_sign_in_form_needs_its_token_too(client: PageClient, add_user: AddUser) -> None:
    answer = client.post("/login", data={"email": add_user("support"), "password": PASSWORD})
    assert (answer.status_code, heading(answer)) == (400, "Sign in")


def test_a_form_that_is_too_large_is_refused_in_words(sign_in: SignIn) -> None:
    browser = sign_in("support")
    answer = browser.post("/account", data={"csrf_token": browser.token(), "timezone": "x" * MAX_BODY})
    assert (answer.status_code, heading(answer)) == (413, "Too much text")
    assert "Nothing was saved." in answer.text


@pytest.mark.parametrize("given", ["abcdef-1234567890", "A" * 64])
def test_a_well_formed_request_id_is_taken_over(client: PageClient, given: str) -> None:
    assert client.get("/healthz", headers={"X-Request-ID": given}).headers["X-Request-ID"] == given


@pytest.mark.parametrize("given", ["short", "A" * 65, "<script>alert(1)</script>", "ünïcödé-12345"])
def test_any_other_request_id_is_replaced(client: PageClient, given: str) -> None:
    named = client.get("/healthz", headers={"X-Request-ID": given.encode().decode("latin-1")}).headers["X-Request-ID"]
    assert len(named) == 32


def test_assets_are_kept_for_ever_only_under_a_name_that_changes(app: Flask, client: PageClient) -> None:
    with app.test_request_context():
        named = static_url("css/base.css")
    assert "immutable" in client.get(named).headers["Cache-Control"]
    assert client.get("/static/css/base.css").headers["Cache-Control"] == "no-cache"
    assert "Set-Cookie" not in client.get(named).headers


def test_nothing_outside_the_static_folder_is_served(client: PageClient) -> None:
    assert client.get("/static/../pyproject.toml").status_code == 404
    assert client.get("/static/%2e%2e/pyproject.toml").status_code == 404


def test_the_language_follows_the_browser_where_there_is_one(app: Flask) -> None:
    answer = new_client(app).get("/login", headers={"Accept-Language": "xx, en-GB;q=0.5"})
    assert '<html lang="en"' in answer.text
