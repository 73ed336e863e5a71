"""Values that a filter offers are looked up once in a while, and for the grants of each person apart."""

from flask import Flask

from dashboard.db import Database, reading
from dashboard.domain.permissions import Scope
from dashboard.web.offered import offered
from tests.web.lists import add_operations, browser_on, statements

EVERYTHING = (Scope(None, None),)


def test_a_second_page_does_not_look_them_up_again(sqlite_database: Database) -> None:
    add_operations(sqlite_database, {})
    browser = browser_on(sqlite_database)
    browser.page("/operations")
    with statements(sqlite_database) as seen:
        assert "payments" in browser.get("/operations").text
    assert [each for each in seen if "GROUP BY" in each] == []


def test_grants_do_not_share_them(app: Flask, sqlite_database: Database) -> None:
    add_operations(sqlite_database, {"tenant": "tienda-es"}, {"tenant": "loja-br"})
    with app.app_context(), reading(sqlite_database) as session:
        assert offered(session, scopes=EVERYTHING).tenants == ["loja-br", "tienda-es"]
        assert offered(session, scopes=(Scope("loja-br", None),)).tenants == ["loja-br"]
