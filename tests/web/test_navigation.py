"""The navigation of every page: what waits is counted in one statement, and no further than a page needs to say."""

from xml.etree.ElementTree import Element

import pytest

from dashboard.db import Database
from dashboard.domain.permissions import Grant, Role
from tests.web.client import PageClient, text_of
from tests.web.lists import browser_on, copies, statements


def counts(browser: PageClient) -> list[str]:
    return [text_of(each) for each in spans(browser.page("/account")) if each.get("class") == "nav-count"]


def spans(page: Element) -> list[Element]:
    return list(page.iter("span"))


@pytest.mark.parametrize(("number", "shown"), [(1, "1"), (999, "999"), (1000, "999+"), (1500, "999+")])
def test_what_waits_is_counted_up_to_999(database: Database, number: int, shown: str) -> None:
    copies(database, number)
    assert counts(browser_on(database)) == [shown]


def test_what_lies_outside_of_the_grants_is_not_counted(database: Database) -> None:
    copies(database, 2)
    assert counts(browser_on(database, Grant(Role.SUPPORT, tenant="loja-br"))) == []


def test_it_takes_one_statement(database: Database) -> None:
    browser = browser_on(database)
    with statements(database) as seen:
        browser.page("/account")
    assert len([each for each in seen if "bulk_plans" in each]) == 1
    assert len([each for each in seen if "operations.is_open" in each]) == 1
