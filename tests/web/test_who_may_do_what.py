"""Every route that changes something, as every role, for the owner of a proposal and for others.

What must come out is written down by the table of design section 9, not by what the code says of itself.
"""

from collections.abc import Iterator
from typing import Any

import pytest
from flask import Flask

from dashboard.db import Database
from dashboard.domain.permissions import Grant, Role
from tests import factories
from tests.web.client import PageClient
from tests.web.lists import app_on, enter
from tests.web.repairs import add, ask
from tests.web.test_routes import routes

SUPPORT, OPERATOR, MANAGER, ADMIN = Role.SUPPORT, Role.OPERATOR, Role.MANAGER, Role.ADMIN
EVERYBODY = frozenset({SUPPORT, OPERATOR, MANAGER})
REASONS = {
    "requeue": "effect_absent",
    "compensate": "charged_twice",
    "close": "cancelled",
    "confirm": "seen_at_destination",
    "escalate": "needs_decision",
    "reopen": "new_evidence",
}
# The table: who asks and it is done (x), who asks and it waits for a second person (p), who is refused.
ACTIONS = {
    "requeue": {SUPPORT: "proposed", OPERATOR: "executed", MANAGER: "executed"},
    "compensate": {SUPPORT: "proposed", OPERATOR: "executed", MANAGER: "executed"},
    "close": {SUPPORT: "proposed", OPERATOR: "executed", MANAGER: "executed"},
    "confirm": {SUPPORT: "proposed", OPERATOR: "executed", MANAGER: "executed"},
    "escalate": {SUPPORT: "executed", OPERATOR: "executed", MANAGER: "executed"},
    "reopen": {MANAGER: "executed"},
}
OTHERS = {"notes": EVERYBODY, "claim": EVERYBODY, "release": EVERYBODY, "check": EVERYBODY}
# Which votes a role may give on a proposal of somebody else; `withdraw` is for who proposed it alone.
VOTES = {"approve": {OPERATOR, MANAGER}, "reject": {OPERATOR, MANAGER}, "withdraw": set[Role]()}
STATES = {"escalate": "awaiting_confirmation", "reopen": "confirmed"}
POLICIES = '[types.charge_order]\ncompensation = "refund_order"\n[types.refund_order]\n'


@pytest.fixture
def site(sqlite_database: Database, settings: Any, tmp_path: Any) -> Flask:
    """An application whose policies know a compensation and ask for no second person."""
    path = tmp_path / "policies.toml"
    path.write_text(POLICIES)
    return app_on(sqlite_database, settings.model_copy(update={"policies": path}))


def evidence(action: str) -> dict[str, str]:
    return {"idempotency_key": "k", "revision": "1", "reason_code": REASONS[action], "note": factories.NOTE}


def state_of(browser: PageClient, answer: Any) -> str:
    """What the flash after an action says of it; the status where it was refused."""
    if answer.status_code != 303:
        return str(answer.status_code)
    page = browser.get(answer.location).text
    return "proposed" if "it waits for approval. Nothing was done yet" in page else "executed"


@pytest.mark.parametrize("role", list(Role))
def test_what_each_role_may_ask_for(site: Flask, sqlite_database: Database, role: Role) -> None:
    browser = enter(site, sqlite_database, Grant(role))
    found, wanted = {}, {}
    for action, may in ACTIONS.items():
        seen = factories.seen_twice() if action == "compensate" else {}
        add(sqlite_database, operation_id=f"op-{action}", state=STATES.get(action, "manual_review"), **seen)
        sent = evidence(action) | {"idempotency_key": f"k-{action}"}
        found[action] = state_of(browser, browser.send(f"/operations/op-{action}/{action}", **sent))
        wanted[action] = may.get(role, "403")
    assert found == wanted


@pytest.mark.parametrize("role", list(Role))
def test_what_each_role_may_do_beside_actions(site: Flask, sqlite_database: Database, role: Role) -> None:
    browser = enter(site, sqlite_database, Grant(role))
    add(sqlite_database, operation_id="op-1")
    sent = {"idempotency_key": "k", "note": factories.NOTE}
    found = {path: browser.send(f"/operations/op-1/{path}", **sent).status_code != 403 for path in OTHERS}
    assert found == {path: role in may for path, may in OTHERS.items()}


@pytest.mark.parametrize("vote", list(VOTES))
@pytest.mark.parametrize("role", list(Role))
def test_what_each_role_may_decide_and_never_about_its_own(
    site: Flask, sqlite_database: Database, role: Role, vote: str
) -> None:
    owner, other = enter(site, sqlite_database, Grant(SUPPORT)), enter(site, sqlite_database, Grant(role))
    for operation_id in ("op-1", "op-2"):
        add(sqlite_database, operation_id=operation_id)
        assert ask(owner, operation_id, "close", reason_code="cancelled").status_code == 303
    sent = {"idempotency_key": "k", "note": factories.NOTE}
    by_other, by_owner = (
        browser.send(f"/actions/{number}/{vote}", **sent).status_code for number, browser in ((1, other), (2, owner))
    )
    refused = 403 if role is ADMIN or role in EVERYBODY else 404
    assert by_other == (303 if role in VOTES[vote] else refused)
    assert by_owner == (303 if vote == "withdraw" else 403)


def test_a_field_that_names_somebody_else_changes_nobody(site: Flask, sqlite_database: Database) -> None:
    add(sqlite_database, operation_id="op-1")
    browser = enter(site, sqlite_database, Grant(SUPPORT))
    smuggled = {
        "requested_by": "boss@shop.example",
        "actor": "boss@shop.example",
        "role": "manager",
        "state": "executed",
    }
    answer = browser.send("/operations/op-1/close", **evidence("close"), **smuggled)
    assert state_of(browser, answer) == "proposed"
    page = browser.get("/actions/1").text
    assert "boss@shop.example" not in page


def test_the_token_of_another_session_decides_nothing(site: Flask, sqlite_database: Database) -> None:
    add(sqlite_database, operation_id="op-1")
    support, manager = (enter(site, sqlite_database, Grant(role)) for role in (SUPPORT, MANAGER))
    ask(support, "op-1", "close", reason_code="cancelled")
    sent = {"csrf_token": support.token(), "idempotency_key": "k"}
    assert manager.post("/actions/1/approve", data=sent).status_code == 400


def test_every_route_that_changes_an_operation_or_a_proposal_is_walked_here(site: Flask) -> None:
    walked = {f"/operations/unknown-1/{name}" for name in (*OTHERS, "unknown-1")} | {"/actions/999999/unknown-1"}
    assert set(_mutating(site)) - walked == set()


def _mutating(site: Flask) -> Iterator[str]:
    for rule, path in routes(site, "POST"):
        if rule.rule.startswith(("/operations/", "/actions/")) and "reveal" not in rule.rule:
            yield path
