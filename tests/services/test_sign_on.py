"""Signing on: a person is issuer and subject, never an address; groups give the roles each time; all is audited."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from sqlalchemy import select

from dashboard.db import Database, clock, reading, transact
from dashboard.domain.errors import InvalidInputError
from dashboard.domain.permissions import Actor, Grant, Role
from dashboard.domain.states import ActorKind
from dashboard.models import AuditEntry, User
from dashboard.services import audit, granting, identities, users
from dashboard.services.sign_in import sign_in
from dashboard.services.sign_on import Claims, sign_on
from dashboard.services.throttling import Refused

SYSTEM = Actor(ActorKind.SYSTEM, "command line")
EMAIL = "ana@shop.example"
ANA = Claims("https://id.shop.example", "sub-1", EMAIL, email_verified=True, groups=())
SUPPORT, OPERATOR, ADMIN = Grant(Role.SUPPORT, "acme"), Grant(Role.OPERATOR, "acme"), Grant(Role.ADMIN)


def enter(database: Database, *grants: Grant, claims: Claims = ANA) -> str:
    outcome = sign_on(database, claims=claims, grants=grants, address="192.0.2.1", request_id="request-1")
    return outcome.code if isinstance(outcome, Refused) else outcome.person.email


def granted(database: Database) -> dict[str, tuple[Grant, ...]]:
    with reading(database) as session:
        return {person.email: person.grants for person in users.list_users(session)}


def tie(database: Database, email: str) -> None:
    who = {"issuer": ANA.issuer, "subject": ANA.subject}
    transact(database, lambda session: identities.link(session, actor=SYSTEM, email=email, now=clock(session), **who))


def audited(database: Database) -> list[tuple[str, str, str, str | None]]:
    with reading(database) as session:
        assert audit.verify(session).intact
        entries = session.scalars(select(AuditEntry).order_by(AuditEntry.seq))
        return [(entry.action, entry.subject, entry.outcome, entry.reason) for entry in entries]


def test_the_first_sign_on_makes_the_account_with_the_roles_of_the_groups(database: Database) -> None:
    assert enter(database, SUPPORT, OPERATOR) == EMAIL
    assert granted(database) == {EMAIL: (SUPPORT, OPERATOR)}
    assert audited(database) == [
        ("user_signed_on", EMAIL, "done", None),
        ("grants_from_groups", EMAIL, "done", None),
        ("sign_in", EMAIL, "done", None),
    ]


def test_windows_that_sign_on_for_the_first_time_at_once_make_one_account(database: Database) -> None:
    with ThreadPoolExecutor(4) as pool:
        outcomes = list(pool.map(lambda _: enter(database, SUPPORT), range(4)))
    assert outcomes == [EMAIL] * 4
    assert granted(database) == {EMAIL: (SUPPORT,)}
    assert [action for action, *_ in audited(database)].count("user_signed_on") == 1


def test_each_sign_on_gives_the_roles_anew_and_audits_only_a_change(database: Database) -> None:
    for grants in ([SUPPORT], [SUPPORT], [OPERATOR]):
        enter(database, *grants)
    assert granted(database) == {EMAIL: (OPERATOR,)}
    assert [action for action, *_ in audited(database)].count("grants_from_groups") == 2


def test_without_a_group_of_ours_nobody_comes_in_and_what_was_given_is_gone(database: Database) -> None:
    assert enter(database) == "no_grants"
    assert granted(database) == {}
    enter(database, OPERATOR)
    with reading(database) as session:
        before = session.scalars(select(User.session_epoch)).one()
    assert enter(database) == "no_grants"
    assert granted(database) == {EMAIL: ()}
    with reading(database) as session:
        assert session.scalars(select(User.session_epoch)).one() == before + 1


def test_a_local_account_with_the_address_is_not_taken_over(database: Database) -> None:
    users.add_user(database, actor=SYSTEM, email=EMAIL, password="correct horse battery", grants=[ADMIN])
    assert enter(database, OPERATOR) == "email_taken"
    assert granted(database) == {EMAIL: (ADMIN,)}
    assert audited(database)[-1] == ("sign_in", EMAIL, "refused", "email_taken")


def test_an_administrator_ties_an_account_to_a_subject_once(database: Database) -> None:
    users.add_user(database, actor=SYSTEM, email=EMAIL, password="correct horse battery", grants=[SUPPORT])
    tie(database, EMAIL)
    assert enter(database, OPERATOR) == EMAIL
    assert granted(database) == {EMAIL: (OPERATOR,)}
    outcome = sign_in(database, email=EMAIL, password="correct horse battery", address=None, request_id=None)
    assert isinstance(outcome, Refused)
    users.add_user(database, actor=SYSTEM, email="eva@shop.example", password="correct horse battery", grants=[SUPPORT])
    for email, code in ((EMAIL, "identity_exists"), ("eva@shop.example", "identity_taken")):
        with pytest.raises(InvalidInputError) as refused:
            tie(database, email)
        assert refused.value.problems[0].code == code
    assert ("identity_linked", EMAIL, "done", None) in audited(database)


@pytest.mark.parametrize("other", [{"subject": "sub-2"}, {"subject": "SUB-1"}, {"issuer": "https://evil.example"}])
def test_another_subject_with_the_same_address_is_somebody_else(database: Database, other: dict[str, str]) -> None:
    enter(database, SUPPORT)
    assert enter(database, ADMIN, claims=replace(ANA, **other)) == "email_taken"  # type: ignore[arg-type]
    assert granted(database) == {EMAIL: (SUPPORT,)}


def test_a_person_whose_address_changed_keeps_the_name_that_the_log_knows(database: Database) -> None:
    enter(database, SUPPORT)
    assert enter(database, SUPPORT, claims=replace(ANA, email="ana.lopez@shop.example")) == EMAIL
    assert list(granted(database)) == [EMAIL]


@pytest.mark.parametrize(
    ("claims", "code"),
    [
        (replace(ANA, email_verified=False), "email_unverified"),
        (replace(ANA, email=""), "email_missing"),
        (replace(ANA, subject=""), "subject_invalid"),
        (replace(ANA, subject="s" * 256), "subject_invalid"),
        (replace(ANA, subject="sub\x001"), "subject_invalid"),
    ],
)
def test_claims_that_name_nobody_for_certain_are_refused(sqlite_database: Database, claims: Claims, code: str) -> None:
    assert [enter(sqlite_database, SUPPORT, claims=claims) for _ in range(3)] == [code] * 3
    assert granted(sqlite_database) == {}
    assert [entry[2:] for entry in audited(sqlite_database)] == [("refused", code)]


def test_groups_never_make_an_admin_who_also_operates(sqlite_database: Database) -> None:
    assert enter(sqlite_database, ADMIN, OPERATOR) == "grant_mixes_admin"
    assert granted(sqlite_database) == {}


def test_a_disabled_person_stays_out(sqlite_database: Database) -> None:
    enter(sqlite_database, SUPPORT)
    transact(
        sqlite_database, lambda session: users.disable_user(session, actor=SYSTEM, email=EMAIL, now=clock(session))
    )
    assert enter(sqlite_database, SUPPORT) == "account_disabled"


def test_who_signs_on_has_no_password_to_guess(sqlite_database: Database) -> None:
    enter(sqlite_database, SUPPORT)
    for guess in ("", "nobody has this password"):
        outcome = sign_in(sqlite_database, email=EMAIL, password=guess, address=None, request_id=None)
        assert isinstance(outcome, Refused)


def test_nobody_gives_roles_past_the_groups(sqlite_database: Database) -> None:
    enter(sqlite_database, SUPPORT)
    for change in (granting.add_grant, granting.remove_grant):
        with pytest.raises(InvalidInputError) as refused:
            transact(
                sqlite_database,
                lambda session, change=change: change(  # type: ignore[misc]
                    session, actor=SYSTEM, email=EMAIL, grant=SUPPORT, now=clock(session)
                ),
            )
        assert refused.value.problems[0].code == "grants_from_groups"
