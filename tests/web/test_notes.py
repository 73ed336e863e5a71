"""Notes on an operation: added once a form, refused without words, never lost."""

import pytest

from dashboard.db import Database
from tests.web.client import PageClient, fields, parse
from tests.web.conftest import AddUser
from tests.web.lists import browser_on, content
from tests.web.repairs import SUPPORT, add, form_of, stored


def send(browser: PageClient, operation_id: str, *texts: str) -> list[int]:
    """Send the note form of one page, once for each text."""
    hidden = form_of(browser.get(f"/operations/{operation_id}").text)
    path = f"/operations/{operation_id}/notes"
    return [browser.post(path, data=hidden | {"note": text}).status_code for text in texts]


def test_a_note_is_added_once_a_form(database: Database) -> None:
    browser, operation_id = browser_on(database, SUPPORT), add(database)
    assert send(browser, operation_id, "Customer called.", "Customer called.") == [303, 303]
    assert stored(database) == {"events": 1, "actions": 0, "done": 1, "refused": 0}
    page = content(browser.page(f"/operations/{operation_id}"))
    assert "Customer called." in page
    assert "It was not added twice." in page


@pytest.mark.parametrize("text", ["", " \n ", "\u200b", "x" * 2001])
def test_a_note_without_words_is_refused_and_kept(sqlite_database: Database, text: str) -> None:
    browser, operation_id = browser_on(sqlite_database, SUPPORT), add(sqlite_database)
    hidden = form_of(browser.get(f"/operations/{operation_id}").text)
    answer = browser.post(f"/operations/{operation_id}/notes", data=hidden | {"note": text})
    assert answer.status_code == 422
    assert "Your note was not added:" in content(parse(answer.text))
    assert fields(parse(answer.text))["note"].strip("\n") == text.strip("\n")
    assert stored(sqlite_database) == {"events": 0, "actions": 0, "done": 0, "refused": 1}


def test_a_note_keeps_no_secrets(sqlite_database: Database) -> None:
    browser, operation_id = browser_on(sqlite_database, SUPPORT), add(sqlite_database)
    send(browser, operation_id, "the key is api_key=sk_live_51Hxxxxxxxx")
    assert "sk_live" not in browser.get(f"/operations/{operation_id}").text


def test_a_note_survives_the_end_of_the_session(
    client: PageClient, add_user: AddUser, sqlite_database: Database
) -> None:
    operation_id = add(sqlite_database)
    path = f"/operations/{operation_id}/notes"
    expired = client.post(path, data={"note": "Half a day of work", "idempotency_key": "k"})
    client.post(
        "/login",
        data={**fields(parse(expired.text)), "email": add_user("support"), "password": "correct horse battery"},
    )
    back = client.send(path, note="Half a day of work")
    assert (back.status_code, fields(parse(back.text))["note"]) == (422, "Half a day of work")
    assert stored(sqlite_database)["events"] == 0


def test_the_address_of_a_refused_note_leads_back_to_its_form(sqlite_database: Database) -> None:
    operation_id = add(sqlite_database)
    answer = browser_on(sqlite_database, SUPPORT).get(f"/operations/{operation_id}/notes")
    assert (answer.status_code, answer.location) == (302, f"/operations/{operation_id}#note")
