"""Administrators and people: added with a password shown once, changed only after the effects were shown, audited."""

import re

import pytest
from sqlalchemy import select
from werkzeug.test import TestResponse

from dashboard.db import Database, reading
from dashboard.domain.permissions import Grant, Role
from dashboard.models import AuditEntry, User
from dashboard.services import audit, users
from tests.web.client import PageClient, text_of
from tests.web.conftest import PASSWORD, AddUser, SignIn
from tests.web.lists import content, statements

KEY = {"idempotency_key": "key-1"}
NEW = {"email": "eva@shop.example", "role": "operator", "tenant": "acme"}


def number(database: Database, email: str) -> int:
    with reading(database) as session:
        return session.scalars(select(User.id).where(User.email == email)).one()


def grants(database: Database, email: str) -> tuple[Grant, ...]:
    with reading(database) as session:
        return next(person.grants for person in users.list_users(session) if person.email == email)


def actions(database: Database) -> list[str]:
    with reading(database) as session:
        assert audit.verify(session).intact
        return [entry.action for entry in session.scalars(select(AuditEntry).order_by(AuditEntry.seq))]


def secret_on(answer: TestResponse) -> str:
    (secret,) = re.findall(r'<code class="break">([^<]+)</code>', answer.text)
    return str(secret)


def test_a_person_is_added_with_a_password_that_is_shown_once(sign_in: SignIn, sqlite_database: Database) -> None:
    admin = sign_in("admin")
    added = admin.send("/admin/users", **NEW, **KEY)
    assert added.status_code == 303
    password = secret_on(admin.get(added.location))
    assert password not in admin.get(added.location).text
    assert grants(sqlite_database, "eva@shop.example") == (Grant(Role.OPERATOR, "acme"),)
    assert "user_added" in actions(sqlite_database)


def test_with_an_initial_password_nothing_opens_before_it_is_replaced(
    sign_in: SignIn, app: object, client: PageClient
) -> None:
    admin = sign_in("admin")
    password = secret_on(admin.get(admin.send("/admin/users", **NEW, **KEY).location))
    assert client.send("/login", email=NEW["email"], password=password).status_code == 303
    assert client.get("/exceptions").location == "/account"
    assert "Choose a password of your own first" in client.get("/account").text
    change = {"current_password": password, "new_password_again": password}
    assert client.send("/account/password", new_password=password, **change).status_code == 422
    change["new_password_again"] = PASSWORD
    assert client.send("/account/password", new_password=PASSWORD, **change).status_code == 303
    assert client.get("/exceptions").status_code == 200


@pytest.mark.parametrize(
    ("form", "words"),
    [
        ({"email": "no address", "role": "support"}, "This is not an e-mail address."),
        ({"email": "eva@shop.example", "role": "root"}, "Choose one of the roles in the list."),
        ({"email": "eva@shop.example", "role": "support", "tenant": "x" * 65}, "Use 1 to 64 characters."),
        ({"email": "admin-1@shop.example", "role": "support"}, "Somebody has this e-mail address already."),
    ],
)
def test_a_bad_field_is_told_beside_it(sign_in: SignIn, form: dict[str, str], words: str) -> None:
    answer = sign_in("admin").send("/admin/users", **form, **KEY)
    assert (answer.status_code, words in answer.text) == (422, True)


def test_a_form_that_came_back_after_signing_in_adds_nobody(sign_in: SignIn, sqlite_database: Database) -> None:
    answer = sign_in("admin").send("/admin/users", **NEW)
    assert (answer.status_code, "eva@shop.example" in answer.text) == (422, True)
    with reading(sqlite_database) as session:
        assert len(users.list_users(session)) == 1


def test_a_role_is_given_after_its_effects_were_shown(
    sign_in: SignIn, add_user: AddUser, sqlite_database: Database
) -> None:
    admin, email = sign_in("admin"), add_user(None, Grant(Role.SUPPORT, "acme"))
    path = f"/admin/users/{number(sqlite_database, email)}/grant"
    shown = content(admin.page(path, query_string={"role": "operator", "tenant": "acme"}))
    assert "May from now on, for acme, all types: carry out repairs that need no approval" in shown
    assert grants(sqlite_database, email) == (Grant(Role.SUPPORT, "acme"),)
    assert admin.send(path, role="operator", tenant="acme", type="", **KEY).status_code == 303
    assert grants(sqlite_database, email) == (Grant(Role.SUPPORT, "acme"), Grant(Role.OPERATOR, "acme"))


def test_a_role_taken_away_counts_from_the_next_page_on(
    sign_in: SignIn, add_user: AddUser, sqlite_database: Database, client: PageClient
) -> None:
    email = add_user(None, Grant(Role.SUPPORT, "acme"), Grant(Role.SUPPORT, "shop"))
    client.send("/login", email=email, password=PASSWORD)
    admin = sign_in("admin")
    path = f"/admin/users/{number(sqlite_database, email)}/revoke"
    assert "May no longer, for shop, all types" in admin.get(f"{path}?role=support&tenant=shop").text
    admin.send(path, role="support", tenant="shop", **KEY)
    roles = text_of(next(iter(client.page("/account").iter("main"))))
    assert ("acme" in roles, "shop" in roles.replace("@shop.example", "")) == (True, False)
    assert "grant_removed" in actions(sqlite_database)


def test_nobody_becomes_an_admin_beside_another_role(
    sign_in: SignIn, add_user: AddUser, sqlite_database: Database
) -> None:
    admin, email = sign_in("admin"), add_user("operator")
    path = f"/admin/users/{number(sqlite_database, email)}/grant"
    assert "An administrator has no other role" in admin.get(f"{path}?role=admin").text
    assert admin.send(path, role="admin", **KEY).status_code == 422
    assert grants(sqlite_database, email) == (Grant(Role.OPERATOR),)


def test_a_disabled_person_is_out_at_once_and_comes_back_enabled(
    sign_in: SignIn, add_user: AddUser, sqlite_database: Database, client: PageClient
) -> None:
    email = add_user("support")
    client.send("/login", email=email, password=PASSWORD)
    admin, base = sign_in("admin"), f"/admin/users/{number(sqlite_database, email)}"
    assert "All their sessions end at once" in admin.get(f"{base}/disable").text
    admin.send(f"{base}/disable", **KEY)
    assert not client.is_signed_in()
    admin.send(f"{base}/enable", **KEY)
    assert client.send("/login", email=email, password=PASSWORD).status_code == 303


def test_an_administrator_ends_the_sessions_of_a_person(
    sign_in: SignIn, add_user: AddUser, sqlite_database: Database, client: PageClient
) -> None:
    email = add_user("support")
    client.send("/login", email=email, password=PASSWORD)
    sign_in("admin").send(f"/admin/users/{number(sqlite_database, email)}/sign-out", **KEY)
    assert not client.is_signed_in()


def test_a_new_initial_password_replaces_the_old_one(
    sign_in: SignIn, add_user: AddUser, sqlite_database: Database, client: PageClient
) -> None:
    email = add_user("support")
    admin, base = sign_in("admin"), f"/admin/users/{number(sqlite_database, email)}"
    password = secret_on(admin.get(admin.send(f"{base}/password", **KEY).location))
    assert client.send("/login", email=email, password=PASSWORD).status_code == 401
    assert client.send("/login", email=email, password=password).status_code == 303


@pytest.mark.parametrize("change", ["disable", "password", "revoke?role=admin"])
def test_administrators_do_not_change_themselves(sign_in: SignIn, sqlite_database: Database, change: str) -> None:
    admin = sign_in("admin")
    answer = admin.send(f"/admin/users/{number(sqlite_database, 'admin-1@shop.example')}/{change}", **KEY)
    assert answer.status_code == 422
    assert admin.is_signed_in()


def test_the_list_narrows_by_what_is_asked_for(sign_in: SignIn, add_user: AddUser) -> None:
    admin = sign_in("admin")
    support, operator = add_user("support"), add_user("operator")
    for query, found in {
        "q=SUPPORT": [support],
        "role=operator": [operator],
        "status=disabled": [],
        "q=%25": [],
    }.items():
        page = admin.get(f"/admin/users?{query}").text
        assert [email for email in (support, operator) if f">{email}<" in page] == found, query
    assert admin.get("/admin/users?role=root").status_code == 400


def test_the_list_pages_without_losing_anybody(sign_in: SignIn, add_user: AddUser) -> None:
    admin = sign_in("admin")
    everybody = {add_user("support") for _ in range(4)} | {"admin-1@shop.example"}
    seen: list[str] = []
    url: str | None = "/admin/users?limit=2"
    while url:
        page = admin.page(url)
        seen += [text_of(row[0]) for row in page.iter("tr") if row.get("data-user-id")]
        url = next((link.get("href") for link in page.iter("a") if link.get("rel") == "next"), None)
    assert (len(seen), set(seen)) == (5, everybody)


def test_the_list_takes_as_many_statements_for_one_person_as_for_many(
    sign_in: SignIn, add_user: AddUser, sqlite_database: Database
) -> None:
    admin, counts = sign_in("admin"), []
    for _ in range(2):
        admin.get("/admin/users")
        with statements(sqlite_database) as seen:
            admin.get("/admin/users")
        counts.append(len(seen))
        add_user("support"), add_user("operator")
    assert counts[0] == counts[1]
