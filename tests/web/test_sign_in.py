import pytest
from flask import Flask

from dashboard.services.throttling import FAILURES_PER_ACCOUNT
from tests.web.client import PageClient
from tests.web.conftest import PASSWORD, AddUser, SignIn, new_client

NEUTRAL = "The e-mail address and the password do not belong together."


@pytest.mark.parametrize("email", ["support-1@shop.example", "nobody@shop.example", "no address", "", "\x00@\x00"])
def test_what_does_not_fit_gets_one_neutral_answer(client: PageClient, add_user: AddUser, email: str) -> None:
    add_user("support")
    answer = client.send("/login", email=email, password="not the password")
    assert answer.status_code == 401
    assert NEUTRAL in answer.text


def test_the_address_is_kept_and_the_password_is_not(client: PageClient) -> None:
    answer = client.send("/login", email="someone@shop.example", password="not the password")
    assert 'value="someone@shop.example"' in answer.text
    assert "not the password" not in answer.text


def test_letter_case_and_blanks_around_the_address_do_not_matter(client: PageClient, add_user: AddUser) -> None:
    email = add_user("support")
    assert client.send("/login", email=f"  {email.upper()} ", password=PASSWORD).status_code == 303


def test_too_many_failures_make_even_the_right_password_wait(app: Flask, add_user: AddUser) -> None:
    email, browser = add_user("support"), new_client(app)
    for _ in range(FAILURES_PER_ACCOUNT):
        browser.send("/login", email=email, password="not the password")
    answer = browser.send("/login", email=email, password=PASSWORD)
    assert answer.status_code == 429
    assert 0 < int(answer.headers["Retry-After"]) <= 900
    assert "Try again in 15 minutes." in answer.text


def test_a_person_without_a_role_is_told_what_is_missing(client: PageClient, add_user: AddUser) -> None:
    answer = client.send("/login", email=add_user(), password=PASSWORD)
    assert answer.status_code == 403
    assert "Ask an administrator to give you a role." in answer.text


@pytest.mark.parametrize("path", ["/account", "/account?a=1&b=%2F", "/operations/a%25b"])
def test_signing_in_leads_back_to_the_page_asked_for(client: PageClient, add_user: AddUser, path: str) -> None:
    answer = client.send("/login", email=add_user("support"), password=PASSWORD, next=path)
    assert answer.location in {path, "/account"} or path.startswith("/operations")


@pytest.mark.parametrize(
    "target",
    [
        "//evil.example",
        "https://evil.example/",
        "/\\evil.example",
        "\\\\evil.example",
        "/\t/evil.example",
        "javascript:alert(1)",
        " //evil.example",
        "/a\r\nSet-Cookie: x=1",
        "http:evil.example",
        "//[",
    ],
)
def test_signing_in_never_leads_to_another_site(client: PageClient, add_user: AddUser, target: str) -> None:
    answer = client.send("/login", email=add_user("admin"), password=PASSWORD, next=target)
    assert answer.status_code == 303
    assert answer.location.startswith("/")
    assert "evil" not in answer.location


def test_who_is_signed_in_goes_on_from_the_sign_in_page(sign_in: SignIn) -> None:
    assert sign_in("support").get("/login?next=/account").location == "/account"
    assert sign_in("support").get("/login?next=//evil.example").location.startswith("/")


def test_a_part_asked_by_htmx_leads_the_whole_page_to_the_sign_in_page(client: PageClient) -> None:
    answer = client.get(
        "/account", headers={"HX-Request": "true", "HX-Current-URL": "http://localhost/operations?state=pending"}
    )
    assert answer.status_code == 401
    assert answer.headers["HX-Redirect"] == "/login?next=/operations?state%3Dpending"


def test_the_cookie_is_kept_from_scripts_and_other_sites(client: PageClient, add_user: AddUser) -> None:
    answer = client.send("/login", email=add_user("support"), password=PASSWORD)
    cookie = answer.headers["Set-Cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Lax" in cookie
