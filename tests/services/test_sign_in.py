"""Signing in: one answer for everything that does not fit, slowed in the database, every outcome audited."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from argon2 import PasswordHasher
from sqlalchemy import event, select, update

from dashboard.db import Database, clock, reading, transact
from dashboard.domain.errors import InvalidInputError
from dashboard.domain.permissions import Actor, Grant, Role
from dashboard.domain.states import ActorKind
from dashboard.models import AuditEntry, User
from dashboard.services import audit, users
from dashboard.services.password_change import change_password
from dashboard.services.sign_in import UNREADABLE, SignedIn, sign_in
from dashboard.services.throttling import FAILURES_PER_ACCOUNT, FAILURES_PER_ADDRESS, WINDOW, Refused

SYSTEM = Actor(ActorKind.SYSTEM, "command line")
PASSWORD = "correct horse battery"
GUESS = "a guess"
EMAIL = "ana@shop.example"


def add(database: Database, *grants: Grant) -> None:
    users.add_user(database, actor=SYSTEM, email=EMAIL, password=PASSWORD, grants=grants)


def attempt(database: Database, email: str = EMAIL, password: str = GUESS, address: str = "192.0.2.1") -> str:
    outcome = sign_in(database, email=email, password=password, address=address, request_id="request-1")
    return outcome.code if isinstance(outcome, Refused) else outcome.person.email


def audited(database: Database) -> list[tuple[str, str, str | None]]:
    with reading(database) as session:
        assert audit.verify(session).intact
        entries = session.scalars(select(AuditEntry).where(AuditEntry.action == "sign_in").order_by(AuditEntry.seq))
        return [(entry.subject, entry.outcome, entry.reason) for entry in entries]


def test_the_right_password_lets_a_person_in(database: Database) -> None:
    add(database, Grant(Role.SUPPORT))
    assert attempt(database, " ANA@shop.example", PASSWORD) == EMAIL
    assert audited(database) == [(EMAIL, "done", None)]


def test_a_wrong_password_and_an_unknown_person_are_refused_alike(database: Database) -> None:
    add(database, Grant(Role.SUPPORT))
    assert attempt(database) == attempt(database, "eva@shop.example") == "credentials"
    assert audited(database) == [(EMAIL, "refused", "credentials"), ("eva@shop.example", "refused", "credentials")]


def test_a_disabled_person_is_refused_like_a_wrong_password(database: Database) -> None:
    add(database, Grant(Role.SUPPORT))
    transact(database, lambda session: users.disable_user(session, actor=SYSTEM, email=EMAIL, now=clock(session)))
    assert attempt(database, password=PASSWORD) == "credentials"


def test_a_person_without_grants_is_told_only_after_the_right_password(database: Database) -> None:
    add(database)
    assert attempt(database) == "credentials"
    assert attempt(database, password=PASSWORD) == "no_grants"


def test_what_is_no_address_is_never_written_down(sqlite_database: Database) -> None:
    assert attempt(sqlite_database, email="my secret password") == "credentials"
    assert audited(sqlite_database) == [(UNREADABLE, "refused", "credentials")]


def test_an_account_waits_after_five_failures_from_anywhere(database: Database) -> None:
    add(database, Grant(Role.SUPPORT))
    for number in range(FAILURES_PER_ACCOUNT):
        assert attempt(database, address=f"192.0.2.{number}") == "credentials"
    assert attempt(database, password=PASSWORD, address="192.0.2.99") == "throttled_account"
    assert attempt(database, email="eva@shop.example") == "credentials"


def test_an_address_waits_after_twenty_failures_on_any_account(sqlite_database: Database) -> None:
    add(sqlite_database, Grant(Role.SUPPORT))
    for number in range(FAILURES_PER_ADDRESS):
        assert attempt(sqlite_database, email=f"{number}@shop.example") == "credentials"
    assert attempt(sqlite_database, password=PASSWORD) == "throttled_address"
    assert attempt(sqlite_database, password=PASSWORD, address="192.0.2.2") == EMAIL


def test_waiting_ends_a_quarter_of_an_hour_after_the_oldest_failure(sqlite_database: Database) -> None:
    add(sqlite_database, Grant(Role.SUPPORT))
    record_failures(sqlite_database, FAILURES_PER_ACCOUNT, ago=WINDOW - timedelta(seconds=90))
    refused = sign_in(sqlite_database, email=EMAIL, password=PASSWORD, address=None, request_id=None)
    assert isinstance(refused, Refused)
    assert 85 <= refused.retry_after <= 90


def test_failures_of_long_ago_do_not_count(sqlite_database: Database) -> None:
    add(sqlite_database, Grant(Role.SUPPORT))
    record_failures(sqlite_database, FAILURES_PER_ACCOUNT, ago=WINDOW)
    assert attempt(sqlite_database, password=PASSWORD) == EMAIL


def test_a_flood_of_refused_attempts_does_not_fill_the_log(sqlite_database: Database) -> None:
    record_failures(sqlite_database, FAILURES_PER_ACCOUNT, ago=timedelta(0))
    for _ in range(5):
        assert attempt(sqlite_database) == "throttled_account"
    assert audited(sqlite_database)[FAILURES_PER_ACCOUNT:] == [(EMAIL, "refused", "throttled_account")]


def test_guesses_sent_at_once_get_no_more_answers_than_guesses_in_turn(database: Database) -> None:
    add(database, Grant(Role.SUPPORT))
    with ThreadPoolExecutor(8) as threads:
        answers = list(threads.map(lambda number: attempt(database, address=f"192.0.2.{number}"), range(16)))
    assert answers.count("credentials") == FAILURES_PER_ACCOUNT
    assert answers.count("throttled_account") == 16 - FAILURES_PER_ACCOUNT


def test_a_hash_of_former_parameters_is_made_anew(sqlite_database: Database) -> None:
    add(sqlite_database, Grant(Role.SUPPORT))
    former = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1).hash(PASSWORD)
    transact(sqlite_database, lambda session: session.execute(update(User).values(password_hash=former)))
    assert attempt(sqlite_database, password=PASSWORD) == EMAIL
    with reading(sqlite_database) as session:
        assert session.scalar(select(User.password_hash)) != former
    assert attempt(sqlite_database, password=PASSWORD) == EMAIL


@pytest.mark.parametrize("memory", [8, 19456])
def test_a_password_that_is_changed_while_it_is_compared_lets_nobody_in(database: Database, memory: int) -> None:
    add(database, Grant(Role.SUPPORT))
    old, new = (
        PasswordHasher(time_cost=2, memory_cost=memory, parallelism=1).hash(word) for word in (PASSWORD, "a new one")
    )
    transact(database, lambda session: session.execute(update(User).values(password_hash=old)))
    own = Database(database.url.render_as_string(hide_password=False))
    connections: list[object] = []

    def change(*given: object) -> None:
        connections.append(given)
        if len(connections) == 2:
            transact(database, lambda session: session.execute(update(User).values(password_hash=new)))

    event.listen(own.engine, "checkout", change)
    assert attempt(own, password=PASSWORD) == "credentials"
    own.dispose()
    with reading(database) as session:
        assert session.scalar(select(User.password_hash)) == new


def test_failed_changes_of_the_password_count_as_failures(sqlite_database: Database) -> None:
    add(sqlite_database, Grant(Role.SUPPORT))
    outcome = sign_in(sqlite_database, email=EMAIL, password=PASSWORD, address=None, request_id=None)
    assert isinstance(outcome, SignedIn)
    for _ in range(FAILURES_PER_ACCOUNT):
        with pytest.raises(InvalidInputError):
            change_password(
                sqlite_database, actor=SYSTEM, user_id=outcome.person.id, current=GUESS, new="another good one"
            )
    assert attempt(sqlite_database, password=PASSWORD) == "throttled_account"


def test_changes_of_the_password_are_slowed_like_the_sign_in(sqlite_database: Database) -> None:
    add(sqlite_database, Grant(Role.SUPPORT))
    record_failures(sqlite_database, FAILURES_PER_ACCOUNT, ago=timedelta(0))
    with reading(sqlite_database) as session:
        user_id = session.scalars(select(User.id)).one()
    with pytest.raises(InvalidInputError) as caught:
        change_password(sqlite_database, actor=SYSTEM, user_id=user_id, current=PASSWORD, new="another good one")
    [problem] = caught.value.problems
    assert (problem.field, problem.code, problem.details) == ("current_password", "password_throttled", {"minutes": 15})


def record_failures(database: Database, count: int, *, ago: timedelta) -> None:
    actor = Actor(ActorKind.USER, EMAIL)
    for _ in range(count):
        transact(
            database,
            lambda session: audit.append(
                session,
                actor=actor,
                action="sign_in",
                subject=EMAIL,
                now=clock(session) - ago,
                outcome=audit.REFUSED,
                reason="credentials",
            ),
        )
