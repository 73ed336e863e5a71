"""Changing a password: needs the current one, ends other sessions, and keeps nobody waiting while it is hashed."""

from collections.abc import Callable

import pytest
from argon2 import PasswordHasher
from sqlalchemy import event, select, update

from dashboard.db import Database, reading, transact
from dashboard.domain.errors import InvalidInputError
from dashboard.domain.permissions import Actor, Grant, Role
from dashboard.domain.states import ActorKind
from dashboard.models import AuditEntry, User
from dashboard.services import audit, users
from dashboard.services.password_change import change_password

SYSTEM = Actor(ActorKind.SYSTEM, "command line")
EMAIL, PASSWORD, NEW = "ana@shop.example", "correct horse battery", "another good one"


def add(database: Database) -> int:
    grants = [Grant(Role.SUPPORT)]
    return users.add_user(database, actor=SYSTEM, email=EMAIL, password=PASSWORD, grants=grants).id


def change(database: Database, user_id: int, *, current: str = PASSWORD, new: str = NEW) -> str | int:
    """The new session epoch, or the code of what is wrong."""
    try:
        return change_password(database, actor=SYSTEM, user_id=user_id, current=current, new=new)
    except InvalidInputError as refused:
        [problem] = refused.problems
        return problem.code


def audited(database: Database) -> list[tuple[str, str, str]]:
    with reading(database) as session:
        assert audit.verify(session).intact
        entries = session.scalars(select(AuditEntry).order_by(AuditEntry.seq))
        return [(entry.action, entry.subject, entry.outcome) for entry in entries][1:]


@pytest.fixture
def held(sqlite_database: Database, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many connections were in use each time a password was hashed or compared."""
    counted: list[int] = []
    pool = sqlite_database.engine.pool

    def counting(real: Callable[..., object]) -> Callable[..., object]:
        def count(*given: object) -> object:
            counted.append(pool.checkedout())  # type: ignore[attr-defined]
            return real(*given)

        return count

    for name in ("hash", "verify"):
        monkeypatch.setattr(PasswordHasher, name, counting(getattr(PasswordHasher, name)))
    return counted


def test_it_needs_the_current_password(database: Database) -> None:
    assert change(database, add(database), current="a guess") == "password_wrong"
    assert audited(database) == [("password_changed", EMAIL, "refused")]


def test_it_raises_the_session_epoch(database: Database) -> None:
    user_id = add(database)
    assert change(database, user_id) == 2
    with reading(database) as session:
        assert session.scalars(select(User.session_epoch)).all() == [2]
    assert audited(database) == [("password_changed", EMAIL, "done")]


def test_a_weak_new_password_is_refused(sqlite_database: Database) -> None:
    assert change(sqlite_database, add(sqlite_database), new="short") == "password_too_short"
    assert audited(sqlite_database) == []


def test_no_connection_is_held_while_a_password_is_hashed(sqlite_database: Database, held: list[int]) -> None:
    user_id = add(sqlite_database)
    assert change(sqlite_database, user_id) == 2
    assert held == [0, 0, 0]


def test_a_password_that_was_changed_meanwhile_is_the_wrong_one(database: Database) -> None:
    user_id, own = add(database), Database(database.url.render_as_string(hide_password=False))
    connections: list[object] = []

    def overtake(*given: object) -> None:
        connections.append(given)
        if len(connections) == 2:
            transact(database, lambda session: session.execute(update(User).values(password_hash="of somebody else")))

    event.listen(own.engine, "checkout", overtake)
    assert change(own, user_id) == "password_wrong"
    own.dispose()
    with reading(database) as session:
        assert session.scalar(select(User.password_hash)) == "of somebody else"
