from datetime import timedelta

import pytest

from dashboard.db import transact
from dashboard.domain.errors import LostRaceError
from dashboard.domain.work import Confirmed
from dashboard.services import attempts, work
from tests.faults.conftest import Shop


def test_who_wakes_after_another_took_over_changes_no_row(shop: Shop) -> None:
    """Fault 6: the owner stalls past its lease, another takes over, the first wakes."""
    shop.register()
    stalled = shop.context("stalled", lease=timedelta(seconds=-1))
    (stale,) = work.claim(shop.database, stalled, limit=1)
    shop.send()
    shop.reconcile()
    shop.wait()
    (fresh,) = work.claim(shop.database, shop.context("fresh"), limit=1)
    before, history = shop.row(), len(shop.events())

    with pytest.raises(LostRaceError):
        stale.heartbeat()
    with pytest.raises(LostRaceError):
        transact(
            shop.database,
            lambda session: attempts.confirm(
                session, stale, Confirmed("ch_1"), policies=shop.policies, actor=stalled.actor
            ),
        )
    after = shop.row()
    assert (after.revision, after.lease_token, after.remote_id) == (before.revision, fresh.token, None)
    assert len(shop.events()) == history

    work.perform(shop.database, shop.context("fresh"), fresh)
    assert shop.facts() == (1, "confirmed")


def test_what_waited_too_long_for_its_turn_is_not_sent(shop: Shop) -> None:
    shop.register()
    late = shop.context("late", lease=timedelta(seconds=-1))
    work.send_due(shop.database, late)
    assert shop.facts() == (1, "confirmed"), "a lease that ended and that nobody took is still ours"

    shop.register("op-2")
    (waiting,) = work.claim(shop.database, late, limit=1)
    shop.send()
    outcomes: list[object] = []
    work.work_off(late, waiting, began=-1000, put=lambda *outcome: outcomes.append(outcome))
    assert (outcomes, shop.facts("op-2")) == ([(waiting, None)], (0, "awaiting_confirmation"))


def test_a_heartbeat_keeps_the_lease(shop: Shop) -> None:
    shop.register()
    (held,) = work.claim(shop.database, shop.context(lease=timedelta(seconds=30)), limit=1)
    shop.wait(timedelta(minutes=1))
    held.heartbeat()
    shop.send()
    assert shop.row().state == "processing"
