"""People: added, granted and disabled by who may, with every change in the audit log."""

import pytest
from sqlalchemy import select

from dashboard.db import Database, clock, reading, transact
from dashboard.domain.errors import InvalidInputError, NotAllowedError, NotFoundError
from dashboard.domain.permissions import Actor, Grant, Role
from dashboard.domain.states import ActorKind
from dashboard.models import AuditEntry
from dashboard.services import audit, granting, preferences, users
from dashboard.services.passwords import matches
from dashboard.services.preferences import Preferences
from dashboard.services.users import Person
from tests import factories

SYSTEM = Actor(ActorKind.SYSTEM, "command line")
PASSWORD = "correct horse battery"


def add(database: Database, email: str = "ana@shop.example", *, password: str = PASSWORD, by: Actor = SYSTEM) -> int:
    grants = [Grant(Role.OPERATOR, "shop")]
    return users.add_user(database, actor=by, email=email, password=password, grants=grants).id


def give(database: Database, grant: Grant) -> bool:
    return transact(
        database,
        lambda session: granting.add_grant(
            session, actor=SYSTEM, email="ana@shop.example", grant=grant, now=clock(session)
        ),
    )


def person(database: Database, user_id: int) -> Person:
    with reading(database) as session:
        found = users.find_person(session, user_id=user_id)
    assert found
    return found


def audited(database: Database) -> list[tuple[str, str, str]]:
    with reading(database) as session:
        assert audit.verify(session).intact
        entries = session.scalars(select(AuditEntry).order_by(AuditEntry.seq))
        return [(entry.action, entry.subject, entry.outcome) for entry in entries]


def code(refused: pytest.ExceptionInfo[InvalidInputError]) -> str:
    (problem,) = refused.value.problems
    return problem.code


def test_a_person_is_kept_with_their_grants_and_without_their_password(database: Database) -> None:
    found = person(database, add(database, " Ana@Shop.example "))
    assert (found.email, found.grants) == ("ana@shop.example", (Grant(Role.OPERATOR, "shop"),))
    assert audited(database) == [("user_added", "ana@shop.example", "done")]


@pytest.mark.parametrize(
    "email", ["", "ana", "ana@", "@shop", "a b@shop", "a@b@c", "a\x00@b", "a\u200b@b", f"{'a' * 251}@b.c"]
)
def test_what_is_no_address_is_refused(sqlite_database: Database, email: str) -> None:
    with pytest.raises(InvalidInputError) as refused:
        add(sqlite_database, email)
    assert code(refused) == "email_invalid"


@pytest.mark.parametrize(
    ("password", "problem"),
    [
        ("elevenchars", "password_too_short"),
        ("a" * 12, "password_too_simple"),
        ("ana@shop.example", "password_too_simple"),
        ("ab" * 129, "password_too_long"),
        ("correct\x00horse battery", "text_nul"),
        ("correct\ud800horse battery", "text_surrogate"),
    ],
)
def test_a_weak_password_is_refused(sqlite_database: Database, password: str, problem: str) -> None:
    with pytest.raises(InvalidInputError) as refused:
        add(sqlite_database, password=password)
    assert code(refused) == problem


def test_an_address_is_taken_once_whatever_its_letter_case(database: Database) -> None:
    add(database)
    with pytest.raises(InvalidInputError) as refused:
        add(database, "ANA@shop.example")
    assert code(refused) == "email_taken"


def test_only_who_administers_adds_people(sqlite_database: Database) -> None:
    add(sqlite_database, by=factories.actor(Role.ADMIN))
    with pytest.raises(NotAllowedError):
        add(sqlite_database, "eva@shop.example", by=factories.actor(Role.MANAGER))


def test_a_grant_is_given_once(database: Database) -> None:
    user_id, grant = add(database), Grant(Role.SUPPORT, None, "charge_order")
    assert (give(database, grant), give(database, grant)) == (True, False)
    assert person(database, user_id).grants == (Grant(Role.OPERATOR, "shop"), grant)
    assert audited(database)[1:] == [("grant_added", "ana@shop.example", "done")]


@pytest.mark.parametrize("tenant", ["", "x" * 65, "a\x00b"])
def test_a_grant_for_no_possible_tenant_is_refused(sqlite_database: Database, tenant: str) -> None:
    add(sqlite_database)
    with pytest.raises(InvalidInputError) as refused:
        give(sqlite_database, Grant(Role.SUPPORT, tenant))
    assert code(refused) == "scope_invalid"


@pytest.mark.parametrize("other", [Role.SUPPORT, Role.OPERATOR, Role.MANAGER])
def test_who_administers_has_no_other_role(sqlite_database: Database, other: Role) -> None:
    mixed = [Grant(other, "shop"), Grant(Role.ADMIN)]
    with pytest.raises(InvalidInputError) as refused:
        users.add_user(sqlite_database, actor=SYSTEM, email="ana@shop.example", password=PASSWORD, grants=mixed)
    assert code(refused) == "grant_mixes_admin"
    assert audited(sqlite_database) == []


@pytest.mark.parametrize(("first", "second"), [(Role.OPERATOR, Role.ADMIN), (Role.ADMIN, Role.SUPPORT)])
def test_no_later_grant_mixes_administering_with_another_role(database: Database, first: Role, second: Role) -> None:
    given = [Grant(first)]
    users.add_user(database, actor=SYSTEM, email="ana@shop.example", password=PASSWORD, grants=given)
    with pytest.raises(InvalidInputError) as refused:
        give(database, Grant(second, "shop"))
    assert code(refused) == "grant_mixes_admin"
    assert give(database, Grant(first, "shop"))
    assert [action for action, _, _ in audited(database)] == ["user_added", "grant_added"]


def test_disabling_ends_the_sessions_of_a_person(database: Database) -> None:
    user_id = add(database)
    before = person(database, user_id).session_epoch
    assert disable(database, "ana@shop.example")
    assert not disable(database, "ana@shop.example")
    after = person(database, user_id)
    assert after.disabled_at
    assert after.session_epoch > before


def test_nobody_is_disabled_by_a_wrong_address(sqlite_database: Database) -> None:
    with pytest.raises(NotFoundError):
        disable(sqlite_database, "nobody@shop.example")


def test_preferences_are_kept_and_audited_when_they_change(database: Database) -> None:
    user_id, chosen = add(database), Preferences("en", "Europe/Madrid", "dark", shortcuts=False)
    for _ in range(2):
        prefer(database, user_id, chosen)
    found = person(database, user_id)
    assert (found.locale, found.timezone, found.theme, found.shortcuts) == ("en", "Europe/Madrid", "dark", False)
    assert audited(database)[1:] == [("preferences_changed", "ana@shop.example", "done")]


def test_unknown_preferences_are_refused_together(sqlite_database: Database) -> None:
    with pytest.raises(InvalidInputError) as refused:
        prefer(sqlite_database, add(sqlite_database), Preferences("xx", "../etc/passwd", "pink", shortcuts=True))
    assert [problem.code for problem in refused.value.problems] == [
        "locale_unknown",
        "timezone_unknown",
        "theme_unknown",
    ]


def test_nobody_has_a_password_that_matches() -> None:
    assert not matches("nobody has this password", kept=None)
    assert not matches(PASSWORD, kept="no hash at all")


def disable(database: Database, email: str) -> bool:
    return transact(
        database, lambda session: users.disable_user(session, actor=SYSTEM, email=email, now=clock(session))
    )


def prefer(database: Database, user_id: int, chosen: Preferences) -> None:
    transact(
        database,
        lambda session: preferences.set_preferences(
            session, actor=SYSTEM, user_id=user_id, chosen=chosen, languages=("en",), now=clock(session)
        ),
    )
