"""In the host's own transaction the reservation, the change and its outcome are there together, or none of them."""

from typing import Any

import pytest
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from dashboard import ledger
from dashboard.db import Database, reading
from dashboard.domain.reservations import Answer, Owned, Replay
from dashboard.models import Operation
from tests.idempotency.host import ORDER, Shop
from tests.services.reserving import let_lease_end, own, record, records, request

ANSWER = Answer(201, (), b"done")
KEY = {"Idempotency-Key": "k-1"}


def change(session: Session, name: str = "op-1") -> None:
    """The host's change."""
    ledger.register(session, ledger.NewOperation(name, "shop", "charge_order", "order", "452", "payments"))


def changes(database: Database) -> int:
    with reading(database) as session:
        return session.scalar(select(func.count()).select_from(Operation)) or 0


def perform(shop: Shop, session: Session) -> Any:
    """Reserve, change and complete, and commit nothing."""
    door = shop.door.within(session)
    found = door.reserve(door.request(tenant="shop", operation="charge_order", key="k-1", payload=ORDER))
    if isinstance(found, Owned):
        change(session)
        door.complete(found, ANSWER)
    return found


def test_one_commit_holds_all_of_it_and_a_repeat_is_a_replay(database: Database) -> None:
    shop = Shop(database)
    with Session(database.engine) as session:
        assert isinstance(perform(shop, session), Owned)
        session.commit()
        again = perform(shop, session)
        session.commit()
    assert isinstance(again, Replay)
    assert again.answer == ANSWER
    assert (changes(database), record(database).replay_count) == (1, 1)


def test_a_rollback_takes_all_of_it_and_the_key_may_be_used_again(database: Database) -> None:
    shop = Shop(database)
    with Session(database.engine) as session:
        perform(shop, session)
        session.rollback()
        assert (changes(database), records(database)) == (0, [])
        assert isinstance(perform(shop, session), Owned)
        session.commit()
    assert changes(database) == 1


def test_a_connection_of_the_host_does_as_well(database: Database) -> None:
    shop = Shop(database)
    with database.engine.connect() as connection:
        door = shop.door.within(connection)
        found = door.reserve(door.request(tenant="shop", operation="charge_order", key="k-1", payload=ORDER))
        assert isinstance(found, Owned)
        door.complete(found, ANSWER)
        assert records(database) == []
        connection.commit()
    assert record(database).state == "completed"


class Host:
    """A view whose changes, reservation and outcome are one commit."""

    def __init__(self, database: Database) -> None:
        self.shop = Shop(database, local_only=True)
        self.session = Session(database.engine)
        self.client = self.shop.flask(session=lambda: self.session)
        self.shop.behaviour = self.work

    def work(self) -> Any:
        change(self.session)
        return {"ok": True}, 201

    def post(self, body: object = ORDER) -> Any:
        return self.client.post("/charges/1", json=body, headers=KEY)


def test_a_decorated_view_shares_its_commit(database: Database) -> None:
    host = Host(database)
    assert [host.post().status_code for _ in range(2)] == [201, 201]
    assert host.post({"order": "other"}).status_code == 409
    host.session.close()
    row = record(database)
    assert (changes(database), row.state, row.replay_count, row.conflict_count) == (1, "completed", 1, 1)


@pytest.mark.parametrize("end", ["refused", "broken"])
def test_what_a_decorated_view_does_not_finish_is_undone(database: Database, end: str) -> None:
    host = Host(database)

    def work() -> Any:
        change(host.session)
        if end == "broken":
            raise RuntimeError
        return {"error": "no"}, 422

    host.shop.behaviour = work
    if end == "broken":
        with pytest.raises(RuntimeError):
            host.post()
    else:
        assert host.post().status_code == 422
    assert (changes(database), records(database)) == (0, [])
    host.shop.behaviour = host.work
    assert host.post().status_code == 201
    host.session.close()


def test_a_late_owner_of_local_work_changes_nothing(database: Database) -> None:
    """Fault 6: it stalls past its lease, another takes over, and it wakes."""
    late = own(database, request(local_only=True))
    let_lease_end(database)
    shop = Shop(database, local_only=True)
    taken = shop.door.reserve(request(local_only=True))
    assert isinstance(taken, Owned)
    with Session(database.engine) as session:
        change(session, "late")
        with pytest.raises(ledger.LostRaceError):
            shop.door.within(session).complete(late, ANSWER)
        session.rollback()
    shop.door.complete(taken, ANSWER)
    assert (changes(database), record(database).response_body) == (0, b"done")
