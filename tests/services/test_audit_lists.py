"""Lists of the audit log: in parts that an index bounds, and yet every readable entry once."""

from datetime import timedelta

import pytest

from dashboard.db import Database, reading
from dashboard.domain.permissions import Actor, Grant, Role
from dashboard.domain.states import ActorKind
from dashboard.models import AuditEntry
from dashboard.queries.audit import AuditFilter, count_entries, list_entries, neighbours, reads
from dashboard.queries.keyset import Position
from tests import factories
from tests.services.tampering import append_some

GRANTS = {
    "all": (Grant(Role.MANAGER),),
    "a tenant": (Grant(Role.MANAGER, "shop-jp"),),
    "a type": (Grant(Role.MANAGER, None, "send_fax"),),
    "two scopes that overlap": (Grant(Role.MANAGER, "shop-jp"), Grant(Role.MANAGER, None, "send_fax")),
    "their own": (Grant(Role.SUPPORT),),
}


def fill(database: Database) -> None:
    """Entries of every kind, two of them at one moment and one from a clock that went back."""
    mine = Actor(ActorKind.USER, "reader@shop.example")
    for number in range(4):
        at = factories.NOW + timedelta(seconds=number // 2)
        append_some(database, 1, now=at)
        append_some(database, 1, now=at, tenant="shop-jp")
        append_some(database, 1, now=at, type="send_fax")
        append_some(database, 1, now=at, tenant="shop-jp", type="send_fax")
        append_some(database, 1, now=at - timedelta(hours=1), tenant=None, type=None, actor=mine)


@pytest.mark.parametrize("whose", GRANTS)
def test_a_reader_finds_each_of_their_entries_once_both_ways(database: Database, whose: str) -> None:
    fill(database)
    reader = Actor(ActorKind.USER, "reader@shop.example", GRANTS[whose])
    with reading(database) as session:
        every = session.query(AuditEntry).order_by(AuditEntry.at.desc(), AuditEntry.seq.desc())
        readable = [e.seq for e in every if reads(reader, actor_id=e.actor_id, tenant=e.tenant, type=e.type)]
        found: list[int] = []
        page = list_entries(session, AuditFilter(), reader=reader, position=Position(limit=3))
        found += [row.number for row in page.rows]
        while page.next:
            page = list_entries(session, AuditFilter(), reader=reader, position=Position(after=page.next, limit=3))
            found += [row.number for row in page.rows]
        assert found == readable
        while page.previous:
            page = list_entries(session, AuditFilter(), reader=reader, position=Position(before=page.previous, limit=3))
        assert page.rows[0].number == readable[0]
        assert count_entries(session, AuditFilter(), reader=reader).value == len(readable)
        middle = session.get_one(AuditEntry, readable[1])
        assert neighbours(session, middle, reader=reader) == (readable[2], readable[0])


def test_a_filter_holds_in_every_part(database: Database) -> None:
    fill(database)
    reader = Actor(ActorKind.USER, "reader@shop.example", GRANTS["two scopes that overlap"])
    late = AuditFilter(since=factories.NOW + timedelta(seconds=1), actions=frozenset({"requeue"}))
    with reading(database) as session:
        assert count_entries(session, late, reader=reader).value == 6
        page = list_entries(session, late, reader=reader, position=Position())
        assert {row.tenant for row in page.rows} == {"shop-jp", "tienda-es"}
