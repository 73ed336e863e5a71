"""Figures under everything at once: random changes by several writers, and folders that are cut off and begin anew."""

import random
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from threading import Thread

import pytest
from sqlalchemy import func, select, text, update
from sqlalchemy.orm import Session

from dashboard.db import Database, reading, transact, transaction
from dashboard.domain.facts import Fact
from dashboard.domain.permissions import Scope
from dashboard.models import Operation, RollupDelta
from dashboard.queries import trends
from dashboard.services import rollup_checks, rollups
from tests import factories
from tests.services.rollup_changes import PERIOD, TENANTS, add_a_day_of_work, change, grants, must_equal_rows

ALL = (Scope(None, None),)
BACKLOG = 7000


class EndedError(Exception):
    """The folder ended here, its batch half done."""


def half_a_fold(session: Session) -> None:
    rollups.fold_some(session, at_once=9)
    raise EndedError


def at_once(*jobs: Callable[[], None]) -> None:
    failed: list[BaseException] = []

    def guarded(job: Callable[[], None]) -> None:
        try:
            job()
        except BaseException as error:  # noqa: BLE001 - told below, in the test's own thread
            failed.append(error)

    threads = [Thread(target=guarded, args=(job,)) for job in jobs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []


@pytest.mark.parametrize("seed", [3, 4, 5])
def test_any_grants_see_what_the_rows_say_after_any_changes(database: Database, seed: int) -> None:
    dice = random.Random(seed)  # noqa: S311 - repeatable on purpose
    for _ in range(6):
        with transaction(database) as session:
            change(session, dice, times=15)
        must_equal_rows(database, grants(dice))
        transact(database, lambda session: rollups.fold_some(session, at_once=dice.randrange(1, 60)))
        must_equal_rows(database, grants(dice))
        must_equal_rows(database, ALL)
    assert rollup_checks.check(database) == []


def test_writers_and_folders_of_which_some_end_in_the_middle_leave_exact_figures(database: Database) -> None:
    def write(tenant: str, seed: int) -> None:
        dice = random.Random(seed)  # noqa: S311 - repeatable on purpose
        for _ in range(10):
            transact(database, lambda session: change(session, dice, tenants=(tenant,), times=3))

    def fold() -> None:
        for _ in range(8):
            transact(database, lambda session: rollups.fold_some(session, at_once=9))

    def fold_and_end() -> None:
        for _ in range(8):
            with pytest.raises(EndedError):
                transact(database, half_a_fold)

    writers = [partial(write, tenant, seed) for seed, tenant in enumerate(TENANTS)]
    at_once(*writers, fold, fold_and_end, fold)
    dice = random.Random(6)  # noqa: S311 - repeatable on purpose
    for scopes in (ALL, grants(dice), grants(dice)):
        must_equal_rows(database, scopes)
    assert rollup_checks.check(database) == []


def test_the_backlog_of_a_day_is_folded_in_bounded_units_and_right_at_each_moment(database: Database) -> None:
    """Seven thousand operations that were created, judged and confirmed are 21,000 changes."""
    add_a_day_of_work(database, BACKLOG)
    folded: list[int] = []
    while not folded or folded[-1]:
        assert totals(database) == {Fact.CREATED: BACKLOG, Fact.VERDICT: BACKLOG, Fact.CONFIRMED: BACKLOG}
        folded.append(transact(database, rollups.fold_some))
    assert max(folded) == rollups.AT_ONCE
    assert (sum(folded), len(folded)) == (3 * BACKLOG, -(-3 * BACKLOG // rollups.AT_ONCE) + 1)
    with reading(database) as session:
        assert session.scalar(select(func.count()).select_from(RollupDelta)) == 0
    assert rollup_checks.check(database) == []


def totals(database: Database) -> dict[Fact, int]:
    with reading(database) as session:
        found = trends.each_count(session, facts=tuple(Fact), period=PERIOD, scopes=ALL)
    return {fact: counts.total for fact, counts in found.items() if counts.total}


def test_a_type_that_the_host_renames_takes_its_whole_history_along(database: Database) -> None:
    with transaction(database) as session:
        for days in (0, 4):
            at = factories.NOW - timedelta(days=days)
            factories.operation(session, type="old", created_at=at, state="confirmed", confirmed_at=at)
    rollups.fold(database)
    with transaction(database) as session:
        session.execute(text("UPDATE operations SET type = 'new' WHERE type = 'old'"))
    for _ in range(2):
        with reading(database) as session:
            found = trends.each_count(session, facts=(Fact.CREATED, Fact.CONFIRMED), period=PERIOD, scopes=ALL)
            times = trends.durations(session, period=PERIOD, scopes=ALL)
        assert [set(counts.by_type) for counts in found.values()] == [{"new"}, {"new"}]
        assert (set(times.by_type), times.all.count) == ({"new"}, 2)
        rollups.fold(database)


def test_what_is_all_equal_or_alone_has_one_value_for_all_shares(database: Database) -> None:
    taken = timedelta(seconds=90)
    with transaction(database) as session:
        for name, many in (("alone", 1), ("equal", 30)):
            for _ in range(many):
                at = factories.NOW
                factories.operation(session, type=name, created_at=at, state="confirmed", confirmed_at=at + taken)
    rollups.fold(database)
    with reading(database) as session:
        times = trends.durations(session, period=PERIOD, scopes=ALL).by_type
    shares = {histogram.percentile(share) for histogram in times.values() for share in (0.01, 0.5, 0.95, 1.0)}
    [length] = shares
    assert length is not None
    assert length.total_seconds() == pytest.approx(taken.total_seconds(), rel=0.04)


def test_an_outcome_that_goes_to_and_fro_is_counted_once(database: Database) -> None:
    with transaction(database) as session:
        factories.operation(session, verdict="absent")
    for verdict in ("correct", "divergent", "correct", None, "absent"):
        rollups.fold(database)
        with transaction(database) as session:
            session.execute(update(Operation).values(verdict=verdict))
            session.execute(update(Operation).values(verdict=verdict))
        must_equal_rows(database, ALL)
    rollups.fold(database)
    must_equal_rows(database, ALL)
