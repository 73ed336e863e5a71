import time

import pytest
from flask import Flask

from dashboard.db import Database, clock, transact
from dashboard.domain.permissions import Grant, Role
from dashboard.services import users
from tests.web.client import PageClient, heading
from tests.web.conftest import PASSWORD, SYSTEM, AddUser, SignIn, new_client

MINUTE = 60
HOUR = 3600


def test_signing_in_replaces_the_session_and_its_token(client: PageClient, add_user: AddUser) -> None:
    planted = client.token()
    client.send("/login", email=add_user("support"), password=PASSWORD)
    with client.session_transaction() as session:
        assert session["sid"]
    assert client.post("/logout", data={"csrf_token": planted}).status_code == 400


def test_each_session_has_an_id_of_its_own(sign_in: SignIn) -> None:
    ids = set()
    for _ in range(2):
        with sign_in("support").session_transaction() as session:
            ids.add(session["sid"])
    assert len(ids) == 2


@pytest.mark.parametrize(("seconds", "lasts"), [(59 * MINUTE, True), (61 * MINUTE, False)])
def test_a_session_ends_after_an_hour_without_use(sign_in: SignIn, *, seconds: int, lasts: bool) -> None:
    browser = sign_in("support")
    move_back(browser, "seen_at", seconds)
    assert browser.is_signed_in() is lasts


@pytest.mark.parametrize(("seconds", "lasts"), [(11 * HOUR, True), (13 * HOUR, False)])
def test_a_session_ends_after_twelve_hours_of_use(sign_in: SignIn, *, seconds: int, lasts: bool) -> None:
    browser = sign_in("support")
    move_back(browser, "issued_at", seconds)
    assert browser.is_signed_in() is lasts


def test_using_a_session_prolongs_it(sign_in: SignIn) -> None:
    browser = sign_in("support")
    move_back(browser, "seen_at", 50 * MINUTE)
    assert browser.is_signed_in()
    with browser.session_transaction() as session:
        assert time.time() - session["seen_at"] < MINUTE


def test_an_ended_session_says_so_on_the_way_to_the_sign_in_page(sign_in: SignIn) -> None:
    browser = sign_in("support")
    move_back(browser, "seen_at", 2 * HOUR)
    assert "Your session has ended" in browser.get("/account", follow_redirects=True).text


def test_signing_out_everywhere_ends_the_sessions_of_that_person_only(
    app: Flask, add_user: AddUser, sign_in: SignIn
) -> None:
    email, other = add_user("support"), sign_in("support")
    first, second = enter(app, email), enter(app, email)
    assert first.send("/account/sign-out-everywhere").location == "/login"
    assert [browser.is_signed_in() for browser in (first, second, other)] == [False, False, True]


def test_a_disabled_person_is_out_at_once_and_stays_out(
    app: Flask, add_user: AddUser, sqlite_database: Database
) -> None:
    email = add_user("support")
    browser = enter(app, email)
    transact(
        sqlite_database, lambda session: users.disable_user(session, actor=SYSTEM, email=email, now=clock(session))
    )
    assert not browser.is_signed_in()
    assert new_client(app).send("/login", email=email, password=PASSWORD).status_code == 401


def test_a_grant_counts_from_the_next_page_on(app: Flask, add_user: AddUser, sqlite_database: Database) -> None:
    email = add_user("support")
    browser = enter(app, email)
    assert "Manager" not in browser.get("/account").text
    transact(
        sqlite_database,
        lambda session: users.add_grant(
            session, actor=SYSTEM, email=email, grant=Grant(Role.MANAGER, "shop"), now=clock(session)
        ),
    )
    assert "Manager" in browser.get("/account").text


def test_a_cookie_that_was_tampered_with_is_nobody(client: PageClient) -> None:
    client.set_cookie("session", "eyJfdXNlcl9pZCI6IjEifQ.aaaaaa.bbbbbbbbbbbbbbbbbbbbbbbbbbb")
    assert not client.is_signed_in()


def test_signing_out_ends_the_session(sign_in: SignIn) -> None:
    browser = sign_in("support")
    assert browser.send("/logout").location == "/login"
    assert heading(browser.get("/account", follow_redirects=True)) == "Sign in"


def enter(app: Flask, email: str) -> PageClient:
    browser = new_client(app)
    assert browser.send("/login", email=email, password=PASSWORD).status_code == 303
    return browser


def move_back(browser: PageClient, name: str, seconds: int) -> None:
    with browser.session_transaction() as session:
        session[name] -= seconds
