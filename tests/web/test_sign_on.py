"""Signing on at a provider from end to end, over loopback: what leads in, and what each failure says."""

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from flask import Flask
from pydantic import SecretStr
from sqlalchemy import select

from dashboard.app import create_app
from dashboard.config import Settings
from dashboard.db import Database, reading
from dashboard.models import AuditEntry
from tests import provider
from tests.provider import Provider
from tests.servers import free_port
from tests.web.client import PageClient, fields, heading, parse
from tests.web.conftest import PASSWORD, AddUser, SignIn, new_client

GROUPS = """
[[groups]]
group = "ops-support-acme"
role = "support"
tenant = "acme"

[[groups]]
group = "ops-managers"
role = "manager"
"""
ANA = {"email": "ana@shop.example", "email_verified": True, "groups": ["ops-support-acme", "lunch"]}


@pytest.fixture(scope="module")
def id_provider() -> Iterator[Provider]:
    with provider.running() as found:
        yield found


@pytest.fixture
def issuer(request: pytest.FixtureRequest) -> str:
    """The provider of the tests, started by the first that asks for it."""
    found: Provider = request.getfixturevalue("id_provider")
    return found.url


@pytest.fixture
def settings(issuer: str, tmp_path: Path) -> Settings:
    file = tmp_path / "groups.toml"
    file.write_text(GROUPS, encoding="utf-8")
    return Settings(
        secret_key=SecretStr("a secret of the tests"),
        cookie_secure=False,
        oidc_issuer=issuer,
        oidc_client_id="dashboard",
        oidc_client_secret=SecretStr("a secret of the client"),
        oidc_grants=file,
        oidc_name="Shop ID",
    )


def enter(browser: PageClient, at: Provider, subject: str, *, path: str = "") -> str:
    """Sign on as this subject and give the address to come back to."""
    away = browser.get("/login/provider", query_string={"next": path})
    assert away.status_code == 302
    return at.agree(away.location, subject)


def reasons(database: Database) -> list[tuple[str, str | None]]:
    with reading(database) as session:
        entries = session.scalars(select(AuditEntry).order_by(AuditEntry.seq))
        return [(entry.action, entry.reason) for entry in entries if entry.outcome == "refused"]


def test_a_person_signs_on_and_comes_to_the_page_they_wanted(client: PageClient, id_provider: Provider) -> None:
    id_provider.knows("sub-1", **ANA)
    assert "Sign in with Shop ID" in client.get("/login?next=/account").text
    back = client.get(enter(client, id_provider, "sub-1", path="/account"))
    assert (back.status_code, back.location) == (302, "/account")
    page = client.get("/account").text
    assert "ana@shop.example" in page
    assert "acme" in page
    assert "Current password" not in page


def test_the_question_to_the_provider_carries_state_nonce_and_challenge(client: PageClient) -> None:
    asked = parse_qs(urlsplit(client.get("/login/provider").location).query)
    assert asked["response_type"] == ["code"]
    assert asked["code_challenge_method"] == ["S256"]
    assert all(len(asked[name][0]) >= 20 for name in ("state", "nonce", "code_challenge"))
    assert asked["redirect_uri"] == ["http://localhost/login/provider/return"]


def test_an_answer_without_this_browsers_state_lets_nobody_in(
    app: Flask, client: PageClient, id_provider: Provider, sqlite_database: Database
) -> None:
    id_provider.knows("sub-1", **ANA)
    back = enter(client, id_provider, "sub-1")
    victim = new_client(app)
    answer = victim.get(back)
    assert (answer.status_code, heading(answer)) == (400, "Sign in")
    assert "belongs to no sign-on of this browser" in answer.text
    assert not victim.is_signed_in()
    assert reasons(sqlite_database) == [("sign_in", "state_wrong")]


def test_an_answer_is_good_for_one_sign_on(client: PageClient, id_provider: Provider) -> None:
    id_provider.knows("sub-1", **ANA)
    back = enter(client, id_provider, "sub-1")
    client.get(back)
    client.send("/logout")
    assert client.get(back).status_code == 400


def test_the_nonce_of_another_sign_on_is_refused(client: PageClient, id_provider: Provider) -> None:
    id_provider.knows("sub-1", **ANA)
    back = enter(client, id_provider, "sub-1")
    with client.session_transaction() as session:
        (state,) = (value for name, value in session.items() if name.startswith("_state_provider_"))
        state["data"]["nonce"] = "of another sign-on"
        session.modified = True
    answer = client.get(back)
    assert answer.status_code == 502
    assert "could not be verified" in answer.text


@pytest.mark.parametrize(
    ("claims", "words"),
    [
        ({**ANA, "groups": ["lunch"]}, "None of your groups gives access here"),
        ({**ANA, "groups": None}, "None of your groups gives access here"),
        ({**ANA, "email_verified": False}, "not verified at the identity provider"),
    ],
)
def test_a_person_who_may_not_come_in_is_told_why(
    client: PageClient, id_provider: Provider, claims: dict[str, object], words: str
) -> None:
    id_provider.knows("sub-2", **claims)
    answer = client.get(enter(client, id_provider, "sub-2"))
    assert answer.status_code == 403
    assert words in answer.text
    assert not client.is_signed_in()


def test_an_account_with_the_address_is_not_taken_over(
    client: PageClient, id_provider: Provider, add_user: AddUser
) -> None:
    id_provider.knows("sub-3", **{**ANA, "email": add_user("admin")})
    answer = client.get(enter(client, id_provider, "sub-3"))
    assert (answer.status_code, "is not taken over" in answer.text) == (403, True)


def test_an_administrator_ties_the_account_on_screen(
    app: Flask, client: PageClient, id_provider: Provider, add_user: AddUser, sign_in: SignIn
) -> None:
    email, admin = add_user("support"), sign_in("admin")
    id_provider.knows("sub-4", **{**ANA, "email": email})
    assert "Tie to the provider" in admin.get("/admin/users/1").text
    assert "whatever the address there" in admin.get("/admin/users/1/link").text
    assert admin.send("/admin/users/1/link", subject="", idempotency_key="key-1").status_code == 422
    assert admin.send("/admin/users/1/link", subject="sub-4", idempotency_key="key-2").status_code == 303
    client.get(enter(client, id_provider, "sub-4"))
    assert client.is_signed_in()


def test_saying_no_at_the_provider_is_told(client: PageClient, id_provider: Provider) -> None:
    away = client.get("/login/provider").location
    answer = client.get(id_provider.deny(away))
    assert (answer.status_code, "cancelled at the identity provider" in answer.text) == (403, True)


def test_signing_out_ends_our_session_and_offers_to_end_the_one_there(
    client: PageClient, id_provider: Provider
) -> None:
    id_provider.knows("sub-1", **ANA)
    client.get(enter(client, id_provider, "sub-1"))
    left = client.send("/logout")
    assert "Sign out at the identity provider too" in client.get(left.location).text
    there = client.get("/login/provider/leave").location
    assert there.startswith(f"{id_provider.url}/oauth2/end_session?")
    assert parse_qs(urlsplit(there).query)["post_logout_redirect_uri"] == ["http://localhost/login"]


def test_text_waits_in_its_window_while_the_person_signs_on_in_another(
    client: PageClient, id_provider: Provider
) -> None:
    id_provider.knows("sub-1", **ANA)
    waiting = client.post("/account", data={"timezone": "Europe/Madrid", "csrf_token": "stale"})
    assert 'target="_blank"' in waiting.text
    client.get(enter(client, id_provider, "sub-1"))
    resumed = client.post("/account", data={"timezone": "Europe/Madrid", "csrf_token": "stale"})
    assert "Europe/Madrid" in resumed.text


def test_metadata_of_another_issuer_are_not_believed(
    settings: Settings, id_provider: Provider, sqlite_database: Database
) -> None:
    known_as = settings.model_copy(update={"oidc_issuer": f"{id_provider.url}/"})
    app = create_app(known_as, database=sqlite_database)
    app.test_client_class = PageClient
    assert new_client(app).get("/login/provider").status_code == 502
    assert reasons(sqlite_database) == [("sign_in", "provider_refused")]


@pytest.mark.parametrize("issuer", [f"http://127.0.0.1:{free_port()}"], ids=["nobody listens there"])
def test_a_provider_that_is_away_is_told_and_audited(client: PageClient, sqlite_database: Database) -> None:
    for _ in range(3):
        answer = client.get("/login/provider")
        assert (answer.status_code, "does not answer" in answer.text) == (503, True)
    assert reasons(sqlite_database) == [("sign_in", "provider_away")]


def test_a_provider_whose_clock_is_behind_is_told(settings: Settings, sqlite_database: Database) -> None:
    with provider.running(life_seconds=-600) as late:
        late.knows("sub-1", **ANA)
        app = create_app(settings.model_copy(update={"oidc_issuer": late.url}), database=sqlite_database)
        app.test_client_class = PageClient
        browser = new_client(app)
        answer = browser.get(enter(browser, late, "sub-1"))
    assert (answer.status_code, "The clocks of" in answer.text) == (403, True)


def test_passwords_can_be_switched_off(settings: Settings, sqlite_database: Database, add_user: AddUser) -> None:
    app = create_app(settings.model_copy(update={"local_sign_in": False}), database=sqlite_database)
    app.test_client_class = PageClient
    browser = new_client(app)
    page = browser.get("/login").text
    assert ("Shop ID" in page, 'type="password"' in page) == (True, False)
    waiting = browser.post("/account", data={"timezone": "UTC"}).text
    form = {"csrf_token": fields(parse(waiting))["csrf_token"], "email": add_user("support"), "password": PASSWORD}
    answer = browser.post("/login", data=form)
    assert (answer.status_code, "Passwords are not used here" in answer.text) == (403, True)
    assert not browser.is_signed_in()
