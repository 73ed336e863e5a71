"""The list of evidence: what fits no operation, for people who may browse everything."""

from dashboard.db import Database
from dashboard.domain.permissions import Grant, Role
from tests.receiving import add_payment, settlement, take_in
from tests.web.client import PageClient, heading, text_of
from tests.web.conftest import SignIn


def rows(browser: PageClient, path: str) -> list[str]:
    page = browser.page(path)
    return [text_of(row) for row in page.iter("tr") if row.get("data-evidence-id")]


def test_each_line_is_a_row_with_what_it_says(sign_in: SignIn, sqlite_database: Database) -> None:
    paid = add_payment(sqlite_database)
    take_in(sqlite_database, settlement((paid, "tx-1", "318.93", "settled"), ("nobody", "tx-2", "1.00", "settled")))
    listed = rows(sign_in("support"), "/evidence")
    assert len(listed) == 2
    assert "Fits no operation" in listed[0]
    assert "tx-2" in listed[0]
    assert "settlement.csv Result file, line 3" in listed[0]
    assert paid in listed[1]


def test_the_filters_narrow_the_list(sign_in: SignIn, sqlite_database: Database) -> None:
    paid = add_payment(sqlite_database)
    take_in(sqlite_database, settlement((paid, "tx-1", "318.93", "settled"), ("nobody", "tx-2", "1.00", "settled")))
    browser = sign_in("support")
    assert len(rows(browser, "/evidence?match=unmatched&match=several")) == 1
    assert len(rows(browser, "/evidence?match=matched&destination=bank&source=file")) == 1
    assert rows(browser, "/evidence?destination=cards") == []
    assert rows(browser, "/evidence?source=receipt") == []


def test_pages_follow_each_other(sign_in: SignIn, sqlite_database: Database) -> None:
    take_in(sqlite_database, settlement(*[(f"nobody-{number}", "", "1", "settled") for number in range(5)]))
    browser = sign_in("support")
    page = browser.page("/evidence?limit=3")
    [following] = [link.get("href", "") for link in page.iter("a") if link.get("rel") == "next"]
    assert len(rows(browser, following)) == 2


def test_hostile_text_is_text(sign_in: SignIn, sqlite_database: Database) -> None:
    take_in(sqlite_database, settlement(("<script>alert(1)</script>\u202e", "", "1", "settled")))
    [row] = rows(sign_in("support"), "/evidence")
    assert "<script>alert(1)</script>\\u202e" in row


def test_people_of_one_tenant_do_not_see_what_has_none(sign_in: SignIn) -> None:
    answer = sign_in(None, Grant(Role.MANAGER, "tienda-es")).get("/evidence")
    assert (answer.status_code, heading(answer)) == (403, "Not allowed")


def test_the_filter_says_which_match_is_chosen(sign_in: SignIn) -> None:
    page = sign_in("support").page("/evidence?match=several")
    [chosen] = [each for each in page.iter("span") if each.get("id") == "match-chosen"]
    assert text_of(chosen) == "Fits several"
