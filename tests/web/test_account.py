import pytest
from flask import Flask

from tests.web.client import PageClient, fields, parse, text_of
from tests.web.conftest import PASSWORD, AddUser, SignIn, new_client

NEW = "another good password"


def test_the_page_says_who_is_signed_in_with_which_roles(sign_in: SignIn) -> None:
    page = text_of(sign_in("operator").page("/account"))
    assert "operator-1@shop.example" in page
    assert "Operator all all" in page


def test_preferences_are_kept_and_show_on_the_next_page(sign_in: SignIn) -> None:
    browser = sign_in("support")
    answer = browser.send("/account", timezone="America/Sao_Paulo", theme="dark", locale="en")
    assert (answer.status_code, answer.location) == (303, "/account")
    page = browser.page("/account")
    assert (page.get("data-theme"), page.get("data-shortcuts")) == ("dark", "off")
    assert chosen(browser, "timezone") == "America/Sao_Paulo"


@pytest.mark.parametrize(("locale", "title"), [("es", "Cuenta"), ("pt_BR", "Conta")])
def test_pages_speak_the_language_that_was_chosen_whatever_the_browser_asks(
    sign_in: SignIn, locale: str, title: str
) -> None:
    browser = sign_in("support")
    browser.send("/account", timezone="UTC", theme="light", locale=locale)
    page = browser.page("/account", headers={"Accept-Language": "en"})
    assert page.get("lang") == locale.replace("_", "-")
    assert title in [text_of(heading) for heading in page.iter("h1")]


@pytest.mark.parametrize(
    ("field", "words"),
    [
        ("timezone", "Choose one of the time zones in the list."),
        ("theme", "Choose one of the appearances in the list."),
        ("locale", "Choose one of the languages in the list."),
    ],
)
def test_a_value_that_was_not_offered_is_refused(sign_in: SignIn, field: str, words: str) -> None:
    answer = sign_in("support").send("/account", **{"theme": "light", field: "<b>\x01"})
    assert answer.status_code == 422
    assert words in answer.text


def test_a_new_password_counts_at_once_and_ends_other_sessions(app: Flask, add_user: AddUser) -> None:
    email = add_user("support")
    here, elsewhere = enter(app, email, PASSWORD), enter(app, email, PASSWORD)
    change(here, PASSWORD, NEW, again=NEW)
    assert (here.is_signed_in(), elsewhere.is_signed_in()) == (True, False)
    assert enter(app, email, NEW).is_signed_in()
    assert not enter(app, email, PASSWORD).is_signed_in()


@pytest.mark.parametrize(
    ("current", "new", "again", "words"),
    [
        ("a guess", NEW, NEW, "This is not your current password."),
        (PASSWORD, "short", "short", "Use at least 12 characters."),
        (PASSWORD, NEW, "another one", "The two new passwords are not the same."),
        (PASSWORD, "x" * 20, "x" * 20, "This password is too easy to guess."),
    ],
)
def test_a_password_is_changed_only_with_care(sign_in: SignIn, current: str, new: str, again: str, words: str) -> None:
    browser = sign_in("support")
    answer = browser.send("/account/password", current_password=current, new_password=new, new_password_again=again)
    assert answer.status_code == 422
    assert words in answer.text
    assert NEW not in fields(parse(answer.text)).values()


def change(browser: PageClient, current: str, new: str, *, again: str) -> None:
    answer = browser.send("/account/password", current_password=current, new_password=new, new_password_again=again)
    assert answer.status_code == 303


def enter(app: Flask, email: str, password: str) -> PageClient:
    browser = new_client(app)
    browser.send("/login", email=email, password=password)
    return browser


def chosen(browser: PageClient, name: str) -> str | None:
    (select,) = (field for field in browser.page("/account").iter("select") if field.get("name") == name)
    return next(option.get("value") for option in select.iter("option") if "selected" in option.attrib)
