"""Text typed into a form is not lost when the session ended meanwhile, and nothing is done with it unasked."""

import pytest
from flask import Blueprint, Flask, request
from werkzeug.test import TestResponse

from dashboard.web.context import signed_in
from tests.web.client import PageClient, fields, heading, parse
from tests.web.conftest import PASSWORD, AddUser, SignIn

NOTE = 'Seen <b>twice</b> & "paid"\nsecond line'
FORM = {
    "note": NOTE,
    "reason_code": "other",
    "idempotency_key": "key-1",
    "revision": "3",
    "csrf_token": "stale",
    "current_password": "secret words here",
}


@pytest.fixture(autouse=True)
def form(app: Flask) -> list[dict[str, str]]:
    """A form at /form that remembers what reached it."""
    received: list[dict[str, str]] = []
    blueprint = Blueprint("form", __name__)

    @blueprint.post("/form")
    @signed_in
    def post() -> str:
        received.append(request.form.to_dict())
        return ""

    app.register_blueprint(blueprint)
    return received


def test_a_form_sent_signed_out_changes_nothing_and_keeps_its_text(
    client: PageClient, form: list[dict[str, str]]
) -> None:
    answer = client.post("/form", data=FORM)
    assert (answer.status_code, heading(answer), form) == (401, "Sign in", [])
    kept = fields(parse(answer.text))
    assert (kept["kept.note"], kept["kept.reason_code"], kept["next"]) == (NOTE, "other", "/form")
    assert {name for name in kept if name.startswith("kept.")} == {"kept.note", "kept.reason_code"}
    assert "secret words here" not in answer.text


def test_the_text_survives_a_wrong_password_and_comes_back_to_its_form(
    client: PageClient, add_user: AddUser, form: list[dict[str, str]]
) -> None:
    sign_in_page = client.post("/form", data=FORM)
    failed = submit(client, sign_in_page.text, email=add_user("support"), password="not the password")
    resumed = submit(client, failed.text, email="support-1@shop.example", password=PASSWORD)
    assert (resumed.status_code, heading(resumed)) == (200, "You are signed in again")
    assert form == []
    client.post("/form", data=fields_of_form(resumed.text, "/form"))
    assert [{name: form[0].get(name) for name in ("note", "reason_code", "idempotency_key", "revision")}] == [
        {"note": NOTE, "reason_code": "other", "idempotency_key": None, "revision": None}
    ]


def test_a_form_with_a_stale_token_keeps_its_text_too(sign_in: SignIn, form: list[dict[str, str]]) -> None:
    browser = sign_in("support")
    answer = browser.post("/form", data=FORM)
    assert (answer.status_code, heading(answer), form) == (400, "This form had expired", [])
    assert fields_of_form(answer.text, "/form")["note"] == NOTE


def test_the_form_of_another_site_is_nobodys_text(client: PageClient) -> None:
    answer = client.post("/form", data=FORM, headers={"Sec-Fetch-Site": "cross-site"})
    assert answer.status_code == 401
    assert "kept.note" not in answer.text


@pytest.mark.parametrize("header", [{"Sec-Fetch-Site": "cross-site"}, {"Origin": "https://evil.example"}])
def test_another_site_puts_no_text_into_the_sign_in_page(client: PageClient, header: dict[str, str]) -> None:
    answer = client.post("/login", data={"kept.note": NOTE, "next": "/form"}, headers=header)
    assert answer.status_code == 400
    assert "kept.note" not in answer.text
    assert fields(parse(answer.text))["next"] == ""


def test_text_is_never_carried_to_an_address_that_takes_no_forms(client: PageClient, add_user: AddUser) -> None:
    kept = {"kept.note": NOTE, "next": "//evil.example/form"}
    answer = client.send("/login", email=add_user("support"), password=PASSWORD, **kept)
    assert (answer.status_code, answer.location.startswith("//")) == (303, False)


def test_after_an_empty_form_a_page_is_shown_that_can_be(client: PageClient, add_user: AddUser) -> None:
    answer = client.send("/login", email=add_user("support"), password=PASSWORD, next="/form")
    assert answer.status_code == 303
    assert answer.location != "/form"


def submit(client: PageClient, page: str, **typed: str) -> TestResponse:
    return client.post("/login", data=fields_of_form(page, "/login") | typed)


def fields_of_form(page: str, action: str) -> dict[str, str]:
    forms = [form for form in parse(page).iter("form") if form.get("action") == action]
    assert len(forms) == 1
    return fields(forms[0])
