from dashboard.db import Database, clock, reading
from dashboard.services import tokens
from tests.cli.conftest import Run


def test_a_token_is_the_last_word_and_works(ready: Database, run: Run) -> None:
    ended = run("token", "add", "billing", "--tenant", "shop", "--type", "charge", "--permission", "register")
    secret = ended.out.split()[-1]
    with reading(ready) as session:
        caller = tokens.authenticate(session, secret=secret, now=clock(session))
    assert caller.actor.id == "token:billing"
    assert ended.out.startswith("Added billing: register (shop, charge), until ")


def test_a_token_is_listed_without_its_secret_and_revoked(ready: Database, run: Run) -> None:
    secret = run("token", "add", "billing", "--tenant", "shop").out.split()[-1]
    assert run("token", "revoke", "billing").out == "billing is revoked.\n"
    listed = run("token", "list").out
    assert listed.startswith(f"billing\t{secret[:12]}...\tbrowse, register, reserve, work (shop, all types), until ")
    assert listed.endswith("; never used; revoked\n")
    assert secret not in listed


def test_what_is_wrong_is_said_line_by_line(ready: Database, run: Run) -> None:
    ended = run("token", "add", "a b", "--tenant", "", "--expires", "800d")
    assert ended.status == 2
    assert [line.split(":")[1].strip() for line in ended.err.splitlines()] == ["name", "tenant", "expires"]
    assert "is no duration" in run("token", "add", "x", "--tenant", "shop", "--expires", "soon").err
    assert run("token", "revoke", "x").err == "Error: There is no token x.\n"
