"""The results of verifications are kept: of each way, of each outcome, and never more than a few."""

import pytest
import sqlalchemy as sa
from sqlalchemy.orm import Session

from dashboard.db import Database, reading, transact
from dashboard.domain.permissions import Actor, Role
from dashboard.models import AuditCheck
from dashboard.queries.audit_checks import AuditStanding, Way, audit_standing
from dashboard.services import audit_results
from dashboard.services.anchoring import AnchorRefusedError, take_anchor
from dashboard.services.audit import Verification
from dashboard.services.audit_checks import verify_on_record
from dashboard.services.audit_results import KEPT
from tests import factories
from tests.import_file import ACTOR
from tests.services.tampering import append_some, tamper
from tests.services.test_audit_anchors import KEY

INTACT = Verification(7, "0" * 64)
BROKEN = Verification(3, "0" * 64, 4, "changed")
HOSTILE = "<b>'\N{RIGHT-TO-LEFT OVERRIDE}" * 100


def keep(database: Database, *results: tuple[Way, Verification]) -> AuditStanding:
    def unit(session: Session) -> None:
        for way, found in results:
            audit_results.keep(session, found, way=way, actor=ACTOR)

    transact(database, unit)
    return standing(database)


def standing(database: Database) -> AuditStanding:
    with reading(database) as session:
        return audit_standing(session)


def test_a_log_nobody_verified_stands_without_anything(database: Database) -> None:
    found = standing(database)
    assert (found.last, found.failed, found.checked_at, found.anchored_at) == ({}, None, None, None)


def test_the_last_of_each_way_is_found_and_the_last_intact_beside_it(database: Database) -> None:
    found = keep(database, (Way.COMMAND, INTACT), (Way.SCREEN, INTACT), (Way.COMMAND, BROKEN))
    assert {way: check.problem for way, check in found.last.items()} == {Way.COMMAND: "changed", Way.SCREEN: None}
    assert (found.last[Way.COMMAND].checked, found.last[Way.COMMAND].broken_seq) == (3, 4)
    assert found.intact[Way.COMMAND].id < found.last[Way.COMMAND].id
    assert found.checked_at == found.last[Way.COMMAND].at


@pytest.mark.parametrize(
    ("results", "stands"),
    [
        ([(Way.COMMAND, BROKEN)], True),
        ([(Way.COMMAND, BROKEN), (Way.SCREEN, INTACT)], False),
        ([(Way.SCREEN, INTACT), (Way.COMMAND, BROKEN)], True),
        ([(Way.GIVEN, BROKEN), (Way.COMMAND, INTACT), (Way.ANCHOR, INTACT)], True),
        ([(Way.GIVEN, BROKEN), (Way.COMMAND, INTACT), (Way.GIVEN, INTACT)], False),
        ([(Way.ANCHOR, BROKEN), (Way.GIVEN, INTACT)], False),
    ],
)
def test_a_finding_stands_until_as_much_is_found_intact(
    sqlite_database: Database, *, results: list[tuple[Way, Verification]], stands: bool
) -> None:
    assert (keep(sqlite_database, *results).failed is not None) == stands


def test_only_the_newest_are_kept_and_the_last_intact_one_among_them(database: Database) -> None:
    def often(session: Session) -> None:
        for _ in range(KEPT + 3):
            audit_results.keep(session, BROKEN, way=Way.COMMAND, actor=ACTOR)

    keep(database, (Way.COMMAND, INTACT), (Way.SCREEN, BROKEN))
    transact(database, often)
    with reading(database) as session:
        assert session.scalar(sa.select(sa.func.count()).select_from(AuditCheck)) == KEPT + 2
    assert standing(database).intact[Way.COMMAND].checked == 7


def test_a_person_verifies_and_anybody_finds_it(database: Database) -> None:
    append_some(database, 2)
    verify_on_record(database, actor=factories.actor(Role.MANAGER))
    check = standing(database).last[Way.SCREEN]
    assert (check.checked, check.problem, check.actor_kind) == (2, None, "user")


def test_what_is_too_broken_to_append_to_is_kept_all_the_same(database: Database) -> None:
    append_some(database, 2)
    tamper(database, "DELETE FROM audit_head")
    found, seq = verify_on_record(database, actor=factories.actor(Role.MANAGER))
    assert (found.problem, seq) == ("head_changed", None)
    failed = standing(database).failed
    assert failed is not None
    assert failed.problem == "head_changed"


def test_when_an_anchor_was_written_is_known_and_a_refused_one_does_not_count(database: Database) -> None:
    append_some(database, 2)
    take_anchor(database, actor=ACTOR, key=KEY)
    written = standing(database).anchored_at
    tamper(database, "UPDATE audit_log SET reason = 'other' WHERE seq = 1")
    with pytest.raises(AnchorRefusedError):
        take_anchor(database, actor=ACTOR, key=KEY)
    after = standing(database)
    assert after.anchored_at == written is not None
    assert after.failed is not None
    assert after.failed.way == Way.ANCHOR


def test_an_actor_of_any_length_is_kept(database: Database) -> None:
    actor = Actor(ACTOR.kind, HOSTILE)
    transact(database, lambda session: audit_results.keep(session, INTACT, way=Way.COMMAND, actor=actor))
    assert standing(database).last[Way.COMMAND].actor_id == HOSTILE[:254]
