"""What verifications of the audit log found, as *Audit* shows it to who may verify."""

from dashboard.db import Database, transact
from dashboard.domain.permissions import Actor, Grant, Role
from dashboard.domain.states import ActorKind
from dashboard.queries.audit_checks import Way
from dashboard.services import audit_results
from dashboard.services.audit import Verification
from tests.import_file import ACTOR
from tests.web.client import text_of
from tests.web.conftest import SignIn
from tests.web.test_audit import SOMEBODY, notice

BROKEN = Verification(3, None, 4, "changed")


def keep(database: Database, found: Verification, *, way: Way, actor: Actor = ACTOR) -> None:
    transact(database, lambda session: audit_results.keep(session, found, way=way, actor=actor))


def test_what_a_command_found_is_shown_with_its_age(sqlite_database: Database, sign_in: SignIn) -> None:
    keep(sqlite_database, BROKEN, way=Way.COMMAND)
    keep(sqlite_database, Verification(9, None), way=Way.SCREEN, actor=SOMEBODY)
    keep(sqlite_database, BROKEN, way=Way.GIVEN)
    page = sign_in("manager").page("/audit")
    assert "Broken: Entry 4 was changed" in notice(page)
    assert "By command, with anchors or keys: " in notice(page)
    assert "Last found intact: " in notice(page)
    words = text_of(page)
    assert "On this screen Intact: 9 entries just now · somebody@shop.example" in words
    assert "By command Broken at entry 4 just now · command line, test" in words
    assert "Before anchoring No result kept" in words


def test_a_finding_that_a_later_check_refutes_is_no_notice(sqlite_database: Database, sign_in: SignIn) -> None:
    keep(sqlite_database, BROKEN, way=Way.COMMAND)
    browser = sign_in("admin")
    assert "Broken" in notice(browser.page("/audit"))
    browser.send("/audit/verify")
    assert "Broken" not in notice(browser.page("/audit"))


def test_a_manager_of_a_part_learns_what_was_found_and_not_who_looked(
    sqlite_database: Database, sign_in: SignIn
) -> None:
    keep(sqlite_database, Verification(9, None), way=Way.SCREEN, actor=SOMEBODY)
    words = text_of(sign_in(None, Grant(Role.MANAGER, "tienda-es")).page("/audit"))
    assert "On this screen Intact: 9 entries" in words
    assert "somebody@shop.example" not in words


def test_who_reads_their_own_entries_alone_is_told_nothing_of_checks(
    sqlite_database: Database, sign_in: SignIn
) -> None:
    keep(sqlite_database, BROKEN, way=Way.COMMAND)
    words = text_of(sign_in("operator").page("/audit"))
    assert ("Last verified" in words, "Broken" in words) == (False, False)


def test_hostile_names_of_who_looked_are_text(sqlite_database: Database, sign_in: SignIn) -> None:
    found = Verification(3, None, 4, "anchor_cut", "<b>\u202e")
    keep(sqlite_database, found, way=Way.GIVEN, actor=Actor(ActorKind.SYSTEM, "<script>alert(1)</script>\u202egnp"))
    words = text_of(sign_in("admin").page("/audit"))
    assert "<script>alert(1)</script>\\u202egnp" in words
