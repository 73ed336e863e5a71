import re
from datetime import timedelta

import pytest
from flask import Flask
from sqlalchemy import select

from dashboard.db import Database, clock, reading, transact, transaction
from dashboard.domain.permissions import Grant, Role
from dashboard.models import UserSession
from dashboard.services import granting, users
from tests.web.client import PageClient, heading
from tests.web.conftest import PASSWORD, SYSTEM, AddUser, SignIn, new_client
from tests.web.lists import statements


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


@pytest.mark.parametrize(
    ("column", "minutes", "lasts"),
    [("seen_at", 59, True), ("seen_at", 61, False), ("created_at", 11 * 60, True), ("created_at", 13 * 60, False)],
)
def test_a_session_ends_after_an_hour_without_use_and_after_twelve_in_any_case(
    sqlite_database: Database, sign_in: SignIn, *, column: str, minutes: int, lasts: bool
) -> None:
    browser = sign_in("support")
    move_back(sqlite_database, column, minutes)
    assert browser.is_signed_in() is lasts


def test_using_a_session_prolongs_it_and_is_written_at_most_once_a_minute(
    sqlite_database: Database, sign_in: SignIn
) -> None:
    browser = sign_in("support")
    move_back(sqlite_database, "seen_at", 50)
    writes = []
    for _ in range(3):
        with statements(sqlite_database) as seen:
            assert browser.is_signed_in()
        writes.append([each for each in seen if each.startswith("UPDATE sessions")])
    assert [len(each) for each in writes] == [1, 0, 0]


def test_an_ended_session_says_so_on_the_way_to_the_sign_in_page(sqlite_database: Database, sign_in: SignIn) -> None:
    browser = sign_in("support")
    move_back(sqlite_database, "seen_at", 120)
    assert "Your session has ended" in browser.get("/account", follow_redirects=True).text


def test_who_asks_and_what_they_may_is_read_in_one_statement(sqlite_database: Database, sign_in: SignIn) -> None:
    browser = sign_in(None, Grant(Role.SUPPORT, "a"), Grant(Role.OPERATOR, "b"), Grant(Role.MANAGER, "c"))
    with statements(sqlite_database) as seen:
        browser.get("/login")
    assert [each.split()[0] for each in seen] == ["BEGIN", "SELECT"]


def test_a_copy_of_the_cookie_is_worth_nothing_after_signing_out(app: Flask, sign_in: SignIn) -> None:
    browser, thief = sign_in("support"), new_client(app)
    cookie = browser.get_cookie("session")
    assert cookie
    thief.set_cookie("session", cookie.value)
    assert thief.is_signed_in()
    browser.send("/logout")
    assert not thief.is_signed_in()


def test_the_secret_of_a_session_is_not_in_the_database(sqlite_database: Database, sign_in: SignIn) -> None:
    with sign_in("support").session_transaction() as cookie, reading(sqlite_database) as session:
        kept = session.scalars(select(UserSession.secret_hash)).one()
        assert cookie["sid"] not in kept


def test_a_person_sees_where_they_are_signed_in_and_ends_one_of_them(app: Flask, add_user: AddUser) -> None:
    email = add_user("support")
    here, there = enter(app, email), enter(app, email, agent="Mozilla/5.0 (Windows NT 10.0) Firefox/140.0")
    page = here.get("/account").text
    assert "Firefox on Windows" in page
    (path,) = re.findall(r'action="(/account/sessions/\d+/end)"', page)
    assert here.send(path).location == "/account"
    assert [here.is_signed_in(), there.is_signed_in()] == [True, False]
    assert here.send(path).status_code == 404


def test_ending_all_others_keeps_this_one(app: Flask, add_user: AddUser, sign_in: SignIn) -> None:
    email, other = add_user("support"), sign_in("support")
    first, second, third = (enter(app, email) for _ in range(3))
    first.send("/account/sessions/end-others")
    assert [browser.is_signed_in() for browser in (first, second, third, other)] == [True, False, False, True]


def test_nobody_ends_the_session_of_somebody_else(app: Flask, sign_in: SignIn) -> None:
    victim, other = sign_in("support"), sign_in("manager")
    assert other.send("/account/sessions/1/end").status_code == 404
    assert victim.is_signed_in()


def test_signing_in_again_ends_the_session_before(app: Flask, add_user: AddUser, sqlite_database: Database) -> None:
    email = add_user("support")
    browser = enter(app, email)
    assert browser.send("/login", email=email, password=PASSWORD).status_code == 303
    with reading(sqlite_database) as session:
        assert len(session.scalars(select(UserSession.id)).all()) == 1


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
        lambda session: granting.add_grant(
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


def enter(app: Flask, email: str, *, agent: str = "") -> PageClient:
    browser = new_client(app)
    token = browser.token()
    form = {"csrf_token": token, "email": email, "password": PASSWORD}
    assert browser.post("/login", data=form, headers={"User-Agent": agent}).status_code == 303
    return browser


def move_back(database: Database, column: str, minutes: int) -> None:
    with transaction(database) as session:
        row = session.scalars(select(UserSession)).one()
        setattr(row, column, getattr(row, column) - timedelta(minutes=minutes))
