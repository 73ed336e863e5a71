from pathlib import Path

import pytest

from dashboard.db import Database, reading
from dashboard.domain.permissions import Grant, Role
from dashboard.services import users
from dashboard.services.users import Person
from tests.cli.conftest import Run

PASSWORD = "a long enough password"


def people(database: Database) -> list[Person]:
    with reading(database) as session:
        return users.list_users(session)


def add(run: Run, *more: str) -> None:
    ended = run("user", "add", "Ana@Example.com", "--role", "support", *more, "--password-stdin", stdin=PASSWORD + "\n")
    assert ended.status == 0, ended.err


def test_a_person_is_added_with_a_role_and_no_secret_is_printed(ready: Database, run: Run) -> None:
    ended = run("user", "add", "ana@example.com", "--role", "operator", "--password-stdin", stdin=PASSWORD)
    assert ended.status == 0
    assert PASSWORD not in ended.out + ended.err
    assert [(person.email, person.grants) for person in people(ready)] == [("ana@example.com", (Grant(Role.OPERATOR),))]


def test_a_role_may_be_for_one_tenant_and_type(ready: Database, run: Run) -> None:
    add(run, "--tenant", "loja-br", "--type", "charge_order")
    assert people(ready)[0].grants == (Grant(Role.SUPPORT, "loja-br", "charge_order"),)


def test_without_a_terminal_the_password_is_not_asked_for(ready: Database, run: Run) -> None:
    ended = run("user", "add", "ana@example.com", "--role", "admin", stdin=f"{PASSWORD}\n{PASSWORD}\n")
    assert ended.status == 2
    assert "--password-stdin" in ended.err


def test_a_short_password_a_bad_address_and_one_that_is_taken_are_refused(ready: Database, run: Run) -> None:
    add(run)
    again = run("user", "add", "ana@example.com", "--role", "admin", "--password-stdin", stdin=PASSWORD)
    short = run("user", "add", "nobody", "--role", "admin", "--password-stdin", stdin="short")
    assert (again.status, short.status) == (2, 2)
    assert "Somebody has this address already" in again.err
    assert short.err.splitlines() == [
        "Error: email: Give an e-mail address, such as support@example.com.",
        "Error: password: Choose a password of at least 12 characters.",
    ]


def test_a_role_is_granted_once(ready: Database, run: Run) -> None:
    add(run)
    first = run("user", "grant", "ana@example.com", "--role", "manager")
    second = run("user", "grant", "ana@example.com", "--role", "manager")
    assert first.out == "ana@example.com has: manager (all tenants, all types).\n"
    assert second.out == "ana@example.com had already: manager (all tenants, all types).\n"
    assert len(people(ready)[0].grants) == 2


def test_a_person_is_barred_and_listed_as_such(ready: Database, run: Run) -> None:
    add(run)
    assert run("user", "disable", "ana@example.com").status == 0
    assert run("user", "list").out == "ana@example.com\tsupport (all tenants, all types); barred\n"


def test_somebody_unknown_is_told(ready: Database, run: Run) -> None:
    ended = run("user", "disable", "nobody@example.com")
    assert (ended.status, ended.err) == (2, "Error: There is no nobody@example.com.\n")


def test_a_role_beside_that_of_an_admin_is_refused(ready: Database, run: Run) -> None:
    run("user", "add", "ana@example.com", "--role", "admin", "--password-stdin", stdin=PASSWORD)
    ended = run("user", "grant", "ana@example.com", "--role", "operator")
    assert ended.status == 2
    assert "An admin has no other role" in ended.err


def test_a_role_is_taken_away_just_as_it_was_given(ready: Database, run: Run) -> None:
    add(run)
    other = run("user", "revoke", "ana@example.com", "--role", "support", "--tenant", "shop")
    assert other.out == "ana@example.com did not have: support (shop, all types).\n"
    assert run("user", "revoke", "ana@example.com", "--role", "support").status == 0
    assert people(ready)[0].grants == ()


def test_a_barred_person_is_let_in_again_and_signed_out(ready: Database, run: Run) -> None:
    add(run)
    run("user", "disable", "ana@example.com")
    assert run("user", "enable", "ana@example.com").out == "ana@example.com may sign in again.\n"
    assert people(ready)[0].disabled_at is None
    before = people(ready)[0].session_epoch
    assert run("user", "sign-out", "ana@example.com").status == 0
    assert people(ready)[0].session_epoch == before + 1


def test_an_account_is_tied_to_a_subject_of_the_provider(
    ready: Database, run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    add(run)
    refused = run("user", "link", "ana@example.com", "sub-1")
    assert (refused.status, "there is no identity provider" in refused.err) == (2, True)
    (tmp_path / "groups.toml").write_text('[[groups]]\ngroup = "ops"\nrole = "support"\n', encoding="utf-8")
    monkeypatch.setenv("DASHBOARD_OIDC_ISSUER", "https://id.shop.example")
    monkeypatch.setenv("DASHBOARD_OIDC_CLIENT_ID", "dashboard")
    monkeypatch.setenv("DASHBOARD_OIDC_CLIENT_SECRET", "a secret of the client")
    monkeypatch.setenv("DASHBOARD_OIDC_GRANTS", str(tmp_path / "groups.toml"))
    assert run("user", "link", "ana@example.com", "sub-1").status == 0
    assert not people(ready)[0].has_password
