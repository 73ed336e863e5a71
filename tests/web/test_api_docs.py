"""The readable page of the API shows every call that its document has."""

from flask import Flask

from dashboard.domain.permissions import Role
from tests.web.conftest import SignIn


def test_every_call_and_every_shape_has_its_place(sign_in: SignIn, app: Flask) -> None:
    document = app.extensions["dashboard.api_document"]()
    page = sign_in(Role.SUPPORT).page("/api/v1/docs")
    idents = {element.get("id") for element in page.iter("h2")}
    calls = {call["operationId"] for methods in document["paths"].values() for call in methods.values()}
    assert len(calls) > 30
    assert calls | {f"shape-{name}" for name in document["components"]["schemas"]} <= idents
    links = {link.get("href", "")[1:] for link in page.iter("a") if link.get("href", "").startswith("#shape-")}
    assert links <= idents


def test_it_is_one_click_away_from_every_page(sign_in: SignIn) -> None:
    page = sign_in(Role.SUPPORT).page("/operations")
    assert "/api/v1/docs" in {link.get("href") for link in page.iter("a")}
