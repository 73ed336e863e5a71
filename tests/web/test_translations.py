"""Every text goes through gettext: with all messages put in guillemets, no page has words outside them."""

import re
from collections.abc import Iterator
from pathlib import Path
from xml.etree.ElementTree import Element

import pytest
from babel.messages.catalog import Catalog
from babel.messages.frontend import CommandLineInterface
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po
from flask import Flask

from dashboard.domain.permissions import Permission, Role
from dashboard.web.context import access_of
from tests.architecture.tree import ROOT
from tests.web.client import PageClient, parse
from tests.web.conftest import SignIn

SPOKEN = ("aria-label", "placeholder", "title", "alt", "data-missing", "data-enough", "data-copied")
# Names that are the same in every language: keys, zones, languages, addresses, ids.
NAMES = {"kbd", "script", "code", "pre"}
WORD = re.compile(r"[^\W\d_]{2,}")
DATA = re.compile(
    r"\S+@\S+|[A-Z][a-z]{2,8} \d{4}|\d+ [A-Z][a-z]{2} \d{4}|UTC|English|español|português \(Brasil\)|[A-Z]\w+/\S.*"
)


@pytest.fixture(scope="session")
def marked_messages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A catalogue that translates each message into itself in guillemets."""
    folder = tmp_path_factory.mktemp("translations")
    catalog = extract(folder / "messages.pot")
    for message in catalog:
        if message.id:
            message.string = mark(message.id) if isinstance(message.id, str) else tuple(map(mark, message.id))
    target = folder / "en" / "LC_MESSAGES" / "messages.mo"
    target.parent.mkdir(parents=True)
    with target.open("wb") as file:
        write_mo(file, catalog)
    return folder


@pytest.fixture
def marked(app: Flask, marked_messages: Path) -> Flask:
    app.extensions["babel"].translation_directories = [str(marked_messages)]
    return app


@pytest.mark.parametrize("role", [Role.MANAGER, Role.ADMIN])
def test_no_page_of_a_person_has_words_that_cannot_be_translated(marked: Flask, sign_in: SignIn, role: Role) -> None:
    browser = sign_in(role)
    for path in ("/no-such-page", *paths(marked)):
        assert list(unmarked(browser, path)) == [], path


def test_no_page_of_nobody_has_words_that_cannot_be_translated(marked: Flask, client: PageClient) -> None:
    for path in ("/no-such-page", "/login?ended=1"):
        assert list(unmarked(client, path)) == [], path


def paths(app: Flask) -> list[str]:
    return [
        rule.rule
        for rule in app.url_map.iter_rules()
        if not rule.arguments
        and "GET" in (rule.methods or ())
        and isinstance(access_of(app.view_functions[rule.endpoint]), Permission | str)
        and rule.endpoint != "static"
    ]


def unmarked(browser: PageClient, path: str) -> Iterator[str]:
    answer = browser.get(path)
    if answer.mimetype != "text/html" or answer.location:
        return
    for text in spoken(parse(answer.text)):
        rest = DATA.sub("", re.sub("«[^»]*»", "", text))
        if WORD.search(rest):
            yield text.strip()


def spoken(element: Element) -> Iterator[str]:
    # What says that it is in English, inside of the page, is quoted from a document that has no other language.
    if element.tag in NAMES or (element.get("lang") == "en" and element.tag != "html"):
        return
    yield from (element.get(name, "") for name in SPOKEN)
    # A message may be spread over elements, but never over blocks; a name beside it is data.
    yield element.text or ""
    for child in element:
        yield from spoken(child)
        yield child.tail or ""


def extract(target: Path) -> Catalog:
    command = ["pybabel", "-q", "extract", "-F", "translations/babel.cfg", "-k", "lazy_gettext", "-o", str(target)]
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(ROOT)
        CommandLineInterface().run([*command, "."])  # type: ignore[no-untyped-call]
    with target.open("rb") as file:
        return read_po(file)


def mark(message: str) -> str:
    return f"«{message}»"
