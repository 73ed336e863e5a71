"""Tokens of the API: shown once, kept as a hash, bound to a tenant, and ended by time or by an administrator."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import select

from dashboard.db import Database, clock, reading, transact
from dashboard.domain.errors import InvalidInputError, NotAllowedError, NotFoundError
from dashboard.domain.permissions import Actor, Grant, Permission, Role
from dashboard.domain.states import ActorKind
from dashboard.models import ApiToken, AuditEntry
from dashboard.services import audit, tokens
from dashboard.services.tokens import Caller, TokenRefusedError
from tests import factories

SYSTEM = Actor(ActorKind.SYSTEM, "command line")
HOUR = timedelta(hours=1)


def make(database: Database, name: str = "billing", *, by: Actor = SYSTEM, **more: Any) -> str:
    values: dict[str, Any] = {"tenant": "shop", "expires_in": HOUR, **more}
    return transact(
        database,
        lambda session: tokens.create(session, actor=by, name=name, now=clock(session), **values),
    )[1]


def enter(database: Database, secret: str, *, later: timedelta = timedelta()) -> Caller:
    with reading(database) as session:
        return tokens.authenticate(session, secret=secret, now=clock(session) + later)


def revoke(database: Database, name: str) -> bool:
    return transact(database, lambda session: tokens.revoke(session, actor=SYSTEM, name=name, now=clock(session)))


def test_a_token_names_its_program_and_what_it_may_do(database: Database) -> None:
    secret = make(database, types=["refund", "charge"], permissions=[Permission.BROWSE])
    only = frozenset({Permission.BROWSE})
    assert enter(database, secret).actor == Actor(
        ActorKind.API, "token:billing", (Grant(None, "shop", "charge", only), Grant(None, "shop", "refund", only))
    )


def test_the_secret_is_kept_nowhere(database: Database) -> None:
    secret = make(database)
    with reading(database) as session:
        row = session.scalars(select(ApiToken)).one()
        entry = session.scalars(select(AuditEntry)).one()
        assert audit.verify(session).intact
    kept = repr({**vars(row), **vars(entry)})
    assert secret not in kept
    assert row.prefix == secret[:12]
    assert (entry.action, entry.subject, entry.tenant) == ("token_added", "billing", "shop")


def test_another_secret_opens_nothing(sqlite_database: Database) -> None:
    secret = make(sqlite_database)
    for wrong in (secret[:-1] + "!", secret[:12], "", secret.upper(), "ops_" + "x" * 5000, "ops_\x00", "ops_ñ"):
        with pytest.raises(TokenRefusedError, match="token_unknown"):
            enter(sqlite_database, wrong)


def test_a_token_ends_with_its_time(database: Database) -> None:
    secret = make(database)
    assert enter(database, secret, later=HOUR - timedelta(minutes=1)).tenant == "shop"
    with pytest.raises(TokenRefusedError, match="token_expired"):
        enter(database, secret, later=HOUR + timedelta(minutes=1))


def test_a_revoked_token_opens_nothing_from_then_on(database: Database) -> None:
    secret = make(database)
    assert revoke(database, "billing")
    assert not revoke(database, "billing")
    with pytest.raises(TokenRefusedError, match="token_revoked"):
        enter(database, secret)
    with pytest.raises(NotFoundError):
        revoke(database, "no such token")


def test_the_last_use_is_written_at_most_once_a_minute(database: Database) -> None:
    secret = make(database)
    caller = enter(database, secret)
    assert caller.unnoted
    for seconds in (0, 30, 59):
        note(database, caller.number, at=factories.NOW + timedelta(seconds=seconds))
    with reading(database) as session:
        assert session.scalars(select(ApiToken.last_used_at)).one() == factories.NOW
    note(database, caller.number, at=factories.NOW + timedelta(seconds=60))
    with reading(database) as session:
        row = session.scalars(select(ApiToken)).one()
        assert row.last_used_at == factories.NOW + timedelta(seconds=60)
        assert not tokens.authenticate(session, secret=secret, now=factories.NOW + timedelta(seconds=90)).unnoted


def test_a_name_is_never_given_again(database: Database) -> None:
    make(database)
    revoke(database, "billing")
    with pytest.raises(InvalidInputError) as refused:
        make(database)
    assert [problem.code for problem in refused.value.problems] == ["token_name_taken"]


def test_every_bad_field_is_named(sqlite_database: Database) -> None:
    asked: dict[str, Any] = {
        "tenant": "",
        "types": ["x" * 65],
        "expires_in": timedelta(days=731),
    }
    with pytest.raises(InvalidInputError) as refused:
        make(sqlite_database, "no name", permissions=[Permission.OVERRIDE], **asked)
    assert [problem.field for problem in refused.value.problems] == ["name", "tenant", "type", "permission", "expires"]


def test_only_who_administers_makes_tokens(sqlite_database: Database) -> None:
    assert make(sqlite_database, by=factories.actor(Role.ADMIN))
    with pytest.raises(NotAllowedError):
        make(sqlite_database, "other", by=factories.actor(Role.MANAGER))


def test_a_permission_that_no_token_may_have_gives_nothing(sqlite_database: Database) -> None:
    row = ApiToken(tenant="shop", types=[], permissions=["administer", "browse", "of a later release"])
    assert tokens.grants_of(row) == (Grant(None, "shop", None, frozenset({Permission.BROWSE})),)


def note(database: Database, number: int, *, at: datetime) -> None:
    transact(database, lambda session: tokens.note_use(session, number=number, now=at))
