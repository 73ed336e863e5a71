"""Open work in counts: what the rows say, for any grants, whether counted at the look or a little before it."""

import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
import sqlalchemy as sa
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dashboard.db import Database, clock, reading, transaction
from dashboard.domain.ages import AGE_BUCKETS, WINDOW_BUCKETS, Windows, bucket_of
from dashboard.domain.bulk import exact_sum
from dashboard.domain.exceptions import why_in_review
from dashboard.domain.permissions import Scope
from dashboard.domain.states import OPEN, State
from dashboard.models import OpenSnapshot, Operation
from dashboard.queries.open_types import Standing, standing_of
from dashboard.services.open_snapshots import refresh
from tests import factories
from tests.web.lists import statements

TENANTS, TYPES = ("es", "br", "jp"), ("charge/order", "100% & <b>", "\N{SHIP}")
SCOPES: tuple[tuple[Scope, ...], ...] = (
    (Scope(None, None),),
    (Scope("es", None),),
    (Scope("br", TYPES[0]),),
    (Scope(None, TYPES[1]), Scope("es", None)),
    (Scope(None, TYPES[2]), Scope("es", TYPES[0]), Scope("jp", TYPES[0]), Scope("jp", TYPES[2])),
    (Scope("elsewhere", None),),
    (Scope("", None),),
    (),
)
WINDOWS = Windows(timedelta(minutes=10), {TYPES[0]: timedelta(hours=1), TYPES[1]: timedelta(days=200 * 365)})
AGES = [timedelta(minutes=minutes) for minutes in (-30, 2, 14, 38, 70, 180, 900, 4320, 30 * 1440)]
VERDICTS = (None, "correct", "absent", "divergent", "ambiguous", "not_applicable", "of the host")
AMOUNTS = ("0.1", "0.2", "99999999999999999999999.999999", "-3", "12.50", None)

Row = dict[str, Any]
Filling = Callable[[int], list[Row]]


def row(choose: random.Random) -> Row:
    """A random operation; many share an instant, and nothing lies near a bound."""
    amount = choose.choice(AMOUNTS)
    return {
        "tenant": choose.choice(TENANTS),
        "type": choose.choice(TYPES),
        "state": choose.choice([*State, *[State.MANUAL_REVIEW] * 4]).value,
        "created_at": datetime.now(UTC).replace(microsecond=choose.choice((0, 999_999))) - choose.choice(AGES),
        "deadline_at": datetime.now(UTC) + timedelta(hours=choose.choice((-9, 9))),
        "verdict": choose.choice(
            (None, "correct", "absent", "divergent", "ambiguous", "not_applicable", "of the host")
        ),
        "cause": choose.choice((None, "permanent", "rejected", "throttled")),
        "amount": amount,
        "currency": choose.choice(("EUR", "JPY")) if amount else None,
    }


def fill(database: Database, rows: Sequence[Row]) -> None:
    with transaction(database) as session:
        session.execute(sa.delete(Operation))
        for each in rows:
            factories.operation(session, **each)


def look(database: Database, **asked: Any) -> Standing:
    with reading(database) as session:
        return standing_of(session, windows=WINDOWS, now=clock(session), **asked)


@pytest.fixture
def filled(database: Database) -> Iterator[Filling]:
    def fill_by(seed: int) -> list[Row]:
        choose = random.Random(seed)  # noqa: S311 - rows, not secrets
        rows = [row(choose) for _ in range(choose.randrange(40))]
        fill(database, rows)
        return rows

    yield fill_by
    with transaction(database) as session:
        session.execute(sa.delete(Operation))


@settings(max_examples=6, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    seed=st.integers(0, 9999),
    asked=st.tuples(st.sampled_from(SCOPES), st.sampled_from((None, *TYPES)), st.sampled_from((None, *TENANTS))),
)
def test_counts_are_those_of_the_rows(database: Database, filled: Filling, seed: int, asked: Any) -> None:
    scopes, name, tenant = asked
    rows = [each for each in filled(seed) if sees(scopes, each) and each["state"] in OPEN]
    rows = [each for each in rows if name in (None, each["type"]) and tenant in (None, each["tenant"])]
    live = look(database, scopes=scopes, type=name, tenant=tenant, shown=9)
    check(live, rows)
    assert refresh(database, windows=WINDOWS, at_least=0)
    taken = look(database, scopes=scopes, type=name, tenant=tenant, shown=9)
    assert taken.is_snapshot
    check(taken, rows)
    forget(database)


def sees(scopes: Sequence[Scope], each: Mapping[str, Any]) -> bool:
    return any(scope.includes(tenant=each["tenant"], type=each["type"]) for scope in scopes)


def check(found: Standing, rows: Sequence[Row]) -> None:
    now = datetime.now(UTC)
    late = [each for each in rows if each["deadline_at"] < now]
    review = [each for each in rows if each["state"] == "manual_review"]
    exceptions = [each for each in rows if each in late or each in review]
    assert {each.type: each.open for each in found.types} == dict(Counter(each["type"] for each in rows))
    assert (found.total("exceptions"), found.total("overdue")) == (len(exceptions), len(late))
    assert found.oldest == min((each["created_at"] for each in rows), default=None)
    aged = Counter(bucket_of(now - each["created_at"]).name for each in rows)
    assert {bucket.name: found.aged(bucket.name).open for bucket in AGE_BUCKETS} == {
        bucket.name: aged[bucket.name] for bucket in AGE_BUCKETS
    }
    reasons = Counter((why_in_review(each["verdict"], each["cause"]), windows_old(each, now)) for each in review)
    assert {(each.why, each.windows) for each in found.review} == set(reasons)
    assert all(found.reviewed(why=why, windows=windows) == size for (why, windows), size in reasons.items())
    for each in found.worth:
        amounts = [Decimal(other["amount"]) for other in exceptions if other["currency"] == each.currency]
        assert (each.size, each.amount) == (len(amounts), exact_sum(amounts))
    assert {each.currency for each in found.worth} == {each["currency"] for each in exceptions} - {None}
    for figures in found.types:
        check_ages(found, figures.type, [other for other in rows if other["type"] == figures.type])


def check_ages(found: Standing, name: str, rows: Sequence[Row]) -> None:
    ages = sorted(max(found.now - each["created_at"], timedelta()) for each in rows)
    ranks = [(len(ages) * share + 99) // 100 - 1 for share in (50, 95)]
    # A snapshot that is added up for somebody is a moment older than the walk to its percentiles.
    for length, rank in zip(found.percentiles_of(name), ranks, strict=True):
        assert length is not None
        assert abs(length - ages[rank]) < timedelta(seconds=60)


def windows_old(each: Mapping[str, Any], now: datetime) -> str:
    windows = (now - each["created_at"]) / WINDOWS.of(each["type"])
    return next(bucket.name for bucket in WINDOW_BUCKETS if bucket.upper is None or windows < bucket.upper)


def forget(database: Database) -> None:
    with transaction(database) as session:
        session.execute(sa.delete(OpenSnapshot))


def test_with_little_open_work_there_is_no_snapshot(database: Database) -> None:
    fill(database, [row(random.Random(1)) | {"state": "pending"}])  # noqa: S311 - rows, not secrets
    assert refresh(database, windows=WINDOWS, at_least=1)
    assert look(database, scopes=SCOPES[0]).is_snapshot
    forget_due(database)
    assert refresh(database, windows=WINDOWS, at_least=2)
    assert not look(database, scopes=SCOPES[0]).is_snapshot
    assert not refresh(database, windows=WINDOWS, at_least=2)


def forget_due(database: Database, *, by: timedelta = timedelta(seconds=9)) -> None:
    """Let the snapshot be older."""
    with transaction(database) as session:
        taken = OpenSnapshot.taken_at
        [at] = session.scalars(sa.select(taken).where(OpenSnapshot.tenant == ""))
        session.execute(sa.update(OpenSnapshot).values(taken_at=at - by))


def test_a_snapshot_is_taken_again_after_some_seconds_only(database: Database) -> None:
    fill(database, [row(random.Random(2)) | {"state": "pending"}])  # noqa: S311 - rows, not secrets
    assert refresh(database, windows=WINDOWS, at_least=1)
    assert not refresh(database, windows=WINDOWS, at_least=1)
    forget_due(database)
    assert refresh(database, windows=WINDOWS, at_least=1)


def test_what_nobody_takes_any_more_is_counted_at_the_look(database: Database) -> None:
    fill(database, [row(random.Random(3)) | {"state": "pending"}])  # noqa: S311 - rows, not secrets
    assert refresh(database, windows=WINDOWS, at_least=1)
    forget_due(database, by=timedelta(seconds=61))
    assert not look(database, scopes=SCOPES[0]).is_snapshot


@pytest.mark.parametrize("types", [1, 300])
def test_the_number_of_statements_does_not_follow_the_types(sqlite_database: Database, types: int) -> None:
    fill(sqlite_database, [row(random.Random(4)) | {"state": "pending", "type": f"type {n}"} for n in range(types)])  # noqa: S311 - rows, not secrets
    with statements(sqlite_database) as seen:
        found = look(sqlite_database, scopes=SCOPES[0], shown=12)
    assert len(found.types) == types
    assert len([each for each in seen if each.startswith("SELECT") and "open" in each]) == 5


def test_sums_keep_every_digit_however_many_there_are(database: Database) -> None:
    some = {"state": "manual_review", "currency": "EUR"}
    fill(database, [{**some, "amount": amount} for amount in ("0.000001",) * 3 + ("9" * 24,) * 2])
    assert [each.amount for each in look(database, scopes=SCOPES[0]).worth] == [
        Decimal("1999999999999999999999998.000003")
    ]


def test_workers_that_count_at_once_leave_one_whole_snapshot(database: Database) -> None:
    choose = random.Random(5)  # noqa: S311 - rows, not secrets
    rows = [row(choose) | {"state": "pending", "tenant": tenant} for tenant in TENANTS for _ in range(4)]
    fill(database, rows)
    with ThreadPoolExecutor(4) as workers:
        done = [workers.submit(refresh, database, windows=WINDOWS, at_least=1) for _ in range(4)]
    assert any(each.result() for each in done)
    with reading(database) as session:
        kept = session.execute(sa.select(OpenSnapshot.tenant, OpenSnapshot.taken_at)).all()
    assert {each.tenant for each in kept} == {*TENANTS, ""}
    assert len({each.taken_at for each in kept}) == 1
    assert look(database, scopes=SCOPES[0]).total("open") == len(rows)
