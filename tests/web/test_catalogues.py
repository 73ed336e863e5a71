"""The catalogues: each has every text of this release, with the places for values that the English has."""

import re
from pathlib import Path

import pytest
from babel.messages.catalog import Message
from babel.messages.pofile import read_po
from flask import Flask

from tests.architecture.tree import ROOT
from tests.web.conftest import new_client
from tests.web.test_translations import extract

CATALOGUES = sorted(ROOT.glob("translations/*/LC_MESSAGES/messages.po"))
PLACE = re.compile(r"%\(\w+\)[sd]|%%")


def texts(value: str | tuple[str, ...] | list[str] | None) -> list[str]:
    return [value or ""] if isinstance(value, str | None) else list(value)


def places(message: Message) -> bool:
    """Whether each form has the places for values of the English one."""
    wanted = sorted(set(PLACE.findall(texts(message.id)[-1])))
    return all(sorted(set(PLACE.findall(each))) == wanted for each in texts(message.string))


@pytest.mark.parametrize("path", CATALOGUES, ids=lambda path: path.parts[-3])
def test_every_text_is_translated_with_its_places_for_values(path: Path, tmp_path: Path) -> None:
    with path.open("rb") as file:
        catalogue = read_po(file)
    wanted = {message.id for message in extract(tmp_path / "messages.pot") if message.id}
    known = {message.id: message for message in catalogue if message.id}
    assert [each for each in wanted if each not in known or not all(texts(known[each].string))] == []
    assert [each for each in wanted if known[each].fuzzy or not places(known[each])] == []


def test_there_is_a_catalogue_of_each_language_of_the_product() -> None:
    assert [path.parts[-3] for path in CATALOGUES] == ["es", "pt_BR"]


def test_spanish_speaks_to_nobody_by_name_of_address() -> None:
    """Texts are impersonal: the reader is neither `usted` nor `tú`."""
    with (ROOT / "translations/es/LC_MESSAGES/messages.po").open("rb") as file:
        said = [text for message in read_po(file) if message.id for text in texts(message.string)]
    addressed = re.compile(r"\b(usted(es)?|tú|tus?|contigo)\b", re.IGNORECASE)
    assert [text for text in said if addressed.search(text)] == []


@pytest.mark.parametrize(
    ("asked", "language", "word"),
    [
        ("pt-BR, en;q=0.5", "pt-BR", "Entrar"),
        ("es", "es", "Iniciar sesión"),
        ("es-MX, es;q=0.9, en;q=0.5", "es", "Iniciar sesión"),
        ("fr, es-419;q=0.9", "es", "Iniciar sesión"),
        ("fr", "en", "Sign in"),
    ],
)
def test_a_browser_gets_the_language_it_asks_for(app: Flask, asked: str, language: str, word: str) -> None:
    page = new_client(app).get("/login", headers={"Accept-Language": asked}).text
    assert (f'lang="{language}"' in page, word in page) == (True, True)
