"""Tokens on screen: the secret is shown once and kept nowhere, and a revoked one is refused."""

import re

import pytest
from sqlalchemy import select

from dashboard.db import Database, clock, reading
from dashboard.models import ApiToken, AuditEntry
from dashboard.services import tokens
from tests.web.conftest import SignIn

FORM = {"idempotency_key": "key-1", "name": "shop-1", "tenant": "acme", "days": "30", "types": "charge_order, ship"}


def secret_on(page: str) -> list[str]:
    return re.findall(r'<code class="break">(ops_[^<]+)</code>', page)


def test_a_token_is_made_and_its_secret_shown_once(sign_in: SignIn, sqlite_database: Database) -> None:
    admin = sign_in("admin")
    made = admin.send("/admin/tokens", **FORM, permission=["browse", "register"])
    assert (made.status_code, made.location) == (303, "/admin/tokens/shop-1")
    (secret,) = secret_on(admin.get(made.location).text)
    assert secret_on(admin.get(made.location).text) == []
    with reading(sqlite_database) as session:
        caller = tokens.authenticate(session, secret=secret, now=clock(session))
        row = session.scalars(select(ApiToken)).one()
        told = " ".join(str(entry.after) for entry in session.scalars(select(AuditEntry)))
    assert (caller.tenant, row.types, sorted(row.permissions)) == (
        "acme",
        ["charge_order", "ship"],
        ["browse", "register"],
    )
    assert secret not in told


def test_the_list_shows_what_tells_tokens_apart(sign_in: SignIn) -> None:
    admin = sign_in("admin")
    admin.send("/admin/tokens", **FORM, permission="browse")
    page = admin.get("/admin/tokens").text
    assert all(words in page for words in ("shop-1", "ops_", "acme", "charge_order, ship", "never", "Active"))


def test_a_revoked_token_is_refused(sign_in: SignIn, sqlite_database: Database) -> None:
    admin = sign_in("admin")
    (secret,) = secret_on(admin.get(admin.send("/admin/tokens", **FORM, permission="browse").location).text)
    assert "cannot be undone" in admin.get("/admin/tokens/shop-1/revoke").text
    assert admin.send("/admin/tokens/shop-1/revoke", idempotency_key="key-2").status_code == 303
    with reading(sqlite_database) as session, pytest.raises(tokens.TokenRefusedError):
        tokens.authenticate(session, secret=secret, now=clock(session))
    assert "Revoked" in admin.get("/admin/tokens").text


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"name": "no blanks"}, "begin with a letter or digit"),
        ({"tenant": ""}, "Use 1 to 64 characters."),
        ({"days": "0"}, "Choose from one minute"),
        ({"days": "9999"}, "Choose from one minute"),
        ({"days": "soon"}, "Choose from one minute"),
        ({"permission": "administer"}, "Choose at least one permission"),
        ({"permission": "bogus"}, "Choose at least one permission"),
    ],
)
def test_a_bad_field_is_told_and_makes_no_token(
    sign_in: SignIn, sqlite_database: Database, changed: dict[str, str], words: str
) -> None:
    answer = sign_in("admin").send("/admin/tokens", **{**FORM, "permission": "browse", **changed})
    assert (answer.status_code, words in answer.text) == (422, True)
    with reading(sqlite_database) as session:
        assert tokens.list_tokens(session) == []


def test_a_form_that_came_back_makes_no_token(sign_in: SignIn, sqlite_database: Database) -> None:
    form = {name: value for name, value in FORM.items() if name != "idempotency_key"}
    assert sign_in("admin").send("/admin/tokens", **form, permission="browse").status_code == 422
    with reading(sqlite_database) as session:
        assert tokens.list_tokens(session) == []
