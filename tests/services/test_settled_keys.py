"""A key that was left pending is settled together with its operation, and then has an outcome for whoever asks."""

import pytest

from dashboard.db import Database, clock, transaction
from dashboard.domain.errors import LostRaceError
from dashboard.domain.permissions import Actor
from dashboard.domain.policy import Policies
from dashboard.domain.reservations import Replay, Unfinished
from dashboard.domain.states import ActorKind
from dashboard.services import reservations, settling, work
from tests import factories
from tests.services.reserving import complete, let_lease_end, own, record, request, reserve


def settle(database: Database, state: str) -> None:
    """Let the reconciler settle the operation that the key is bound to."""
    with transaction(database) as session:
        operation = factories.operation(
            session, operation_id="op-1", tenant="shop", idempotency_key="k-1", state=state, remote_id="ch_1"
        )
        settling.settle(session, operation, now=clock(session))


@pytest.mark.parametrize(("state", "expected"), [("confirmed", "completed"), ("not_applicable", "failed")])
def test_a_pending_key_gets_the_outcome_of_its_operation(database: Database, state: str, expected: str) -> None:
    owned = own(database)
    with transaction(database) as session:
        reservations.leave_pending(session, owned, operation_id="op-1")
    settle(database, state)
    again = reserve(database)
    assert isinstance(again, Replay)
    assert (again.state, again.answer, again.expired, again.operation_id) == (expected, None, False, "op-1")


def test_a_worker_shows_the_keys_of_silent_owners_as_pending(database: Database) -> None:
    own(database)
    context = work.Context(Policies(), Actor(ActorKind.WORKER, "worker-1"))
    assert not work.lapse_keys(database, context)
    let_lease_end(database)
    assert work.lapse_keys(database, context)
    assert record(database).state == "pending"


def test_an_owner_at_work_is_left_alone(database: Database) -> None:
    owned = own(database, request(operation_id="op-1"))
    settle(database, "confirmed")
    assert isinstance(reserve(database), Unfinished)
    complete(database, owned)


def test_a_late_owner_changes_nothing_that_was_settled(database: Database) -> None:
    owned = own(database, request(operation_id="op-1"))
    let_lease_end(database)
    settle(database, "confirmed")
    with pytest.raises(LostRaceError):
        complete(database, owned)
    again = reserve(database)
    assert isinstance(again, Replay)
    assert again.external_reference == "ch_1"
