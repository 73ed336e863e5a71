"""Every route, as nobody and as every role: new screens are walked without another line here."""

from collections.abc import Iterator
from typing import Any

import pytest
from flask import Blueprint, Flask
from werkzeug.routing import IntegerConverter, Rule

from dashboard.domain.permissions import ROLE_PERMISSIONS, Permission, Role
from dashboard.edge.context import PUBLIC, access_of, refuse_unmarked
from dashboard.web.security import WITHOUT_SESSION
from tests.web.client import PageClient, heading
from tests.web.conftest import SignIn

SAFE = {"GET", "HEAD", "OPTIONS"}


def test_the_start_refuses_a_view_that_says_nothing_about_who_may_open_it(app: Flask) -> None:
    stray = Blueprint("stray", __name__)
    stray.add_url_rule("/stray", "view", lambda: "")
    app.register_blueprint(stray)
    with pytest.raises(RuntimeError, match=r"stray\.view"):
        refuse_unmarked(app)


def test_nobody_sees_more_than_the_public_views(app: Flask, client: PageClient) -> None:
    for rule, path in routes(app, "GET"):
        if access(app, rule) != PUBLIC:
            answer = client.get(path)
            assert (answer.status_code, (answer.location or "").partition("?")[0]) == (302, "/login"), path


def test_nobody_changes_anything(app: Flask, client: PageClient) -> None:
    for rule, path in routes(app, "POST"):
        if access(app, rule) != PUBLIC:
            answer = client.post(path, data={"note": "typed text"})
            assert (answer.status_code, heading(answer)) == (401, "Sign in"), path


@pytest.mark.parametrize("role", list(Role))
def test_a_role_is_kept_out_of_every_view_it_has_no_permission_for(app: Flask, sign_in: SignIn, role: Role) -> None:
    browser = sign_in(role)
    token = browser.token()
    for rule, path in [*routes(app, "GET"), *routes(app, "POST")]:
        needed = access(app, rule)
        if isinstance(needed, Permission) and needed not in ROLE_PERMISSIONS[role]:
            method = "GET" if "GET" in (rule.methods or ()) else "POST"
            answer = browser.open(path, method=method, data={"csrf_token": token} if method == "POST" else None)
            assert answer.status_code == 403, path


@pytest.mark.parametrize("role", list(Role))
def test_a_role_gets_an_answer_from_every_view_it_may_open(app: Flask, sign_in: SignIn, role: Role) -> None:
    browser = sign_in(role)
    for rule, path in routes(app, "GET"):
        needed = access(app, rule)
        if not isinstance(needed, Permission) or needed in ROLE_PERMISSIONS[role]:
            assert browser.get(path).status_code in {200, 302, 404}, path


def test_a_form_without_its_token_is_refused_everywhere(app: Flask, sign_in: SignIn) -> None:
    browser = sign_in(Role.MANAGER)
    for rule, path in routes(app, "POST"):
        needed = access(app, rule)
        if rule.endpoint in WITHOUT_SESSION:
            continue  # no form: let in by a signature
        if not isinstance(needed, Permission) or needed in ROLE_PERMISSIONS[Role.MANAGER]:
            assert browser.post(path, data={"note": "typed text"}).status_code == 400, path


def routes(app: Flask, method: str) -> Iterator[tuple[Rule, str]]:
    """Give each rule that takes the method, with a path where every variable part names something unknown."""
    adapter = app.url_map.bind("localhost")
    for rule in app.url_map.iter_rules():
        if method in (rule.methods or ()) and rule.endpoint != "static":
            yield rule, adapter.build(rule.endpoint, unknown(rule), method=method)


def unknown(rule: Rule) -> dict[str, Any]:
    converters = rule._converters  # noqa: SLF001 - werkzeug has no other way to ask
    return {
        name: 999_999 if isinstance(converters.get(name), IntegerConverter) else "unknown-1" for name in rule.arguments
    }


def access(app: Flask, rule: Rule) -> Permission | str | None:
    return access_of(app.view_functions[rule.endpoint])
