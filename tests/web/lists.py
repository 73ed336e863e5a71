"""Lists as tests read them: rows in bulk, people with any grants on any engine, and walks along the links."""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from html import unescape
from itertools import count
from typing import Any
from xml.etree.ElementTree import Element

import sqlalchemy as sa
from flask import Flask
from flask.testing import FlaskClient
from pydantic import SecretStr

from dashboard.app import create_app
from dashboard.config import Settings
from dashboard.db import Database, transaction
from dashboard.domain.permissions import Grant, Role
from dashboard.models import Record
from dashboard.services import users
from tests import factories
from tests.web.client import PageClient, text_of
from tests.web.conftest import PASSWORD, SYSTEM, new_client

EVERYWHERE = Grant(Role.SUPPORT)
ROW = re.compile(r'<tr data-operation-id="([^"]*)"')
_people = count(1)


def app_on(database: Database, settings: Settings | None = None) -> Flask:
    """An application on a database of any engine."""
    plain = Settings(secret_key=SecretStr("a secret of the tests"), cookie_secure=False)
    app = create_app(settings or plain, database=database)
    app.test_client_class = PageClient
    return app


def enter(app: Flask, database: Database, *grants: Grant) -> PageClient:
    """A browser in which a new person with these grants, or one who may browse everything, has signed in."""
    email = f"person-{next(_people)}@shop.example"
    users.add_user(database, actor=SYSTEM, email=email, password=PASSWORD, grants=grants or (EVERYWHERE,))
    browser = new_client(app)
    assert browser.send("/login", email=email, password=PASSWORD).status_code == 303
    return browser


def browser_on(database: Database, *grants: Grant) -> PageClient:
    """A browser of a new person on a new application."""
    return enter(app_on(database), database, *grants)


def now() -> datetime:
    """The real time, which the database's clock follows; the tests' fixed time would be in its past or future."""
    return datetime.now(UTC)


def add_operations(database: Database, *rows: Mapping[str, Any]) -> list[str]:
    """Add operations and give their ids."""
    with transaction(database) as session:
        return [factories.operation(session, **row).operation_id for row in rows]


def copies(database: Database, number: int) -> None:
    """Add many operations that differ in their id alone, as one statement a thousand."""
    [first] = add_operations(database, {"created_at": now()})
    table = Record.metadata.tables["operations"]
    with transaction(database) as session:
        row = session.execute(sa.select(table).where(table.c.operation_id == first)).mappings().one()
        given = {column.name for column in table.columns if column.computed is None} - {"id", "operation_id"}
        kept = {name: value for name, value in row.items() if name in given}
        for start in range(1, number, 1000):
            ids = range(start, min(start + 1000, number))
            session.execute(sa.insert(table), [{**kept, "operation_id": f"{first}-{each}"} for each in ids])


def ids(page: str) -> list[str]:
    """The operation ids of a page's rows, in order."""
    return [unescape(found) for found in ROW.findall(page)]


def link(page: str, rel: str) -> str | None:
    """Where the page's link to the next or previous page leads."""
    found = re.search(rf'rel="{rel}"\s+href="([^"]*)"', page)
    return unescape(found[1]) if found else None


def walk(browser: FlaskClient, url: str, *, rel: str = "next") -> Iterator[tuple[str, list[str]]]:
    """Each page's address and ids along its links; without the checks of every page, which would take minutes."""
    following: str | None = url
    while following:
        answer = FlaskClient.open(browser, following)
        assert answer.status_code == 200, (following, answer.status)
        yield following, ids(answer.text)
        following = link(answer.text, rel)


def listed(browser: FlaskClient, url: str, *, limit: int = 20) -> list[str]:
    """All ids of a list, in order, none of them twice."""
    joined = f"{url}{'&' if '?' in url else '?'}limit={limit}"
    found = [each for _, page in walk(browser, joined) for each in page]
    assert len(found) == len(set(found)), url
    return found


def counts(page: Element) -> list[tuple[str, str, str | None]]:
    """Each number of a page's content that is a link: its value, where it leads, and its name if it has one."""
    content = next(element for element in page.iter("main"))
    return [
        (each.get("value", ""), anchor.get("href", ""), each.get("data-figure"))
        for anchor in content.iter("a")
        for each in anchor.iter("data")
    ]


def links(page: Element) -> Sequence[str]:
    """Where all links of a page's content lead within the lists."""
    content = next(element for element in page.iter("main"))
    found = [anchor.get("href", "") for anchor in content.iter("a")]
    return [url for url in dict.fromkeys(found) if re.match(r"/(operations|exceptions)(\?|$)", url)]


def content(page: Element) -> str:
    """What a person reads in a page's content."""
    return text_of(next(element for element in page.iter("main")))


@contextmanager
def statements(database: Database) -> Iterator[list[str]]:
    """The SQL that runs meanwhile."""
    seen: list[str] = []

    def note(_connection: Any, _cursor: Any, statement: str, *_others: Any) -> None:
        seen.append(statement)

    for engine in database.engines:
        sa.event.listen(engine, "before_cursor_execute", note)
    yield seen
    for engine in database.engines:
        sa.event.remove(engine, "before_cursor_execute", note)
