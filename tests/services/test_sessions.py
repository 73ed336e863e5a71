"""Sessions on each engine: one look-up says who asks, and ends when the row, the person or the time says so."""

from datetime import timedelta

import pytest
from sqlalchemy import select

from dashboard.db import Database, clock, reading, transact, transaction
from dashboard.domain.errors import NotFoundError
from dashboard.domain.permissions import Actor, Grant, Role
from dashboard.domain.states import ActorKind
from dashboard.models import AuditEntry, UserSession
from dashboard.queries import people
from dashboard.queries.keyset import Position
from dashboard.queries.people import PeopleFilter
from dashboard.services import audit, sessions, users
from dashboard.services.sessions import Current, Limits
from dashboard.services.users import Person

SYSTEM = Actor(ActorKind.SYSTEM, "command line")
LIMITS = Limits(timedelta(hours=1), timedelta(hours=12))
GRANTS = (Grant(Role.SUPPORT, "acme"), Grant(Role.OPERATOR, "shop"))


def add(database: Database, email: str = "ana@shop.example") -> Person:
    return users.add_user(database, actor=SYSTEM, email=email, password="correct horse battery", grants=GRANTS)


def enter(database: Database, person: Person, *, agent: str = "Firefox") -> str:
    return transact(
        database,
        lambda session: sessions.open_session(
            session, person=person, address="192.0.2.1", user_agent=agent, limits=LIMITS, now=clock(session)
        ),
    )


def find(database: Database, secret: str) -> Current | None:
    with reading(database) as session:
        return sessions.find_session(session, secret=secret, limits=LIMITS)


def test_the_secret_finds_the_person_with_all_grants(database: Database) -> None:
    person = add(database)
    found = find(database, enter(database, person))
    assert found
    assert (found.person.email, found.person.grants, found.stale) == (person.email, GRANTS, False)
    assert [find(database, secret) for secret in ("", "another", "\x00\ud800")] == [None] * 3


@pytest.mark.parametrize(
    ("column", "age", "lasts"),
    [
        ("seen_at", timedelta(minutes=59), True),
        ("seen_at", timedelta(minutes=61), False),
        ("created_at", timedelta(hours=13), False),
    ],
)
def test_the_clock_of_the_database_decides_how_long_it_lasts(
    database: Database, column: str, age: timedelta, *, lasts: bool
) -> None:
    secret = enter(database, add(database))
    with transaction(database) as session:
        row = session.scalars(select(UserSession)).one()
        setattr(row, column, getattr(row, column) - age)
    found = find(database, secret)
    assert (found is not None, bool(found and found.stale)) == (lasts, lasts)


def test_raising_the_epoch_ends_every_session(database: Database) -> None:
    person = add(database)
    secrets = [enter(database, person) for _ in range(2)]
    transact(
        database,
        lambda session: users.sign_out_everywhere(session, actor=SYSTEM, user_id=person.id, now=clock(session)),
    )
    assert [find(database, secret) for secret in secrets] == [None, None]


def test_a_person_ends_one_or_all_other_sessions_of_their_own_and_it_is_audited(database: Database) -> None:
    person, other = add(database), add(database, "eva@shop.example")
    kept, one, *rest = [enter(database, person) for _ in range(4)]
    foreign = enter(database, other, agent="x" * 300 + "\x00")
    here, gone, theirs = (each.id for each in (find(database, secret) for secret in (kept, one, foreign)) if each)
    with transaction(database) as session:
        sessions.end_one(session, actor=SYSTEM, person=person, session_id=gone, now=clock(session))
        assert sessions.end_others(session, actor=SYSTEM, person=person, kept=here, now=clock(session)) == 2
    alive = [find(database, secret) is not None for secret in (kept, one, *rest, foreign)]
    assert alive == [True, False, False, False, True]
    with transaction(database) as session, pytest.raises(NotFoundError):
        sessions.end_one(session, actor=SYSTEM, person=person, session_id=theirs, now=clock(session))
    with reading(database) as session:
        assert audit.verify(session).intact
        actions = session.scalars(select(AuditEntry.action).where(AuditEntry.subject == person.email)).all()
    assert list(actions) == ["user_added", "session_ended", "session_ended"]


def test_rows_that_nobody_can_use_are_taken_away_at_the_next_sign_in(database: Database) -> None:
    person = add(database)
    enter(database, person)
    with transaction(database) as session:
        session.scalars(select(UserSession)).one().seen_at -= timedelta(hours=2)
    enter(database, person)
    with reading(database) as session:
        assert len(session.scalars(select(UserSession.id)).all()) == 1


def test_people_are_listed_by_address_in_pages_and_narrowed(database: Database) -> None:
    for name in ("eva", "ana", "zoe"):
        add(database, f"{name}@shop.example")
    with reading(database) as session:
        first = people.list_people(session, PeopleFilter(role="support"), position=Position(limit=2))
        rest = people.list_people(session, PeopleFilter(), position=Position(after=first.next, limit=2))
        assert [row.key for row in (*first.rows, *rest.rows)] == [
            "ana@shop.example",
            "eva@shop.example",
            "zoe@shop.example",
        ]
        for narrowed, count in ((PeopleFilter(text="EV"), 1), (PeopleFilter(text="_v"), 0)):
            assert len(people.list_people(session, narrowed, position=Position()).rows) == count
        assert people.count_people(session, PeopleFilter(status="active", source="local")).value == 3
        assert people.list_people(session, PeopleFilter(source="provider"), position=Position()).rows == []
