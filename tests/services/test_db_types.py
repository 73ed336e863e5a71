"""Column types mean the same on every engine: moments to the microsecond, text byte for byte."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone
from typing import Any
from zoneinfo import ZoneInfo

import pytest
import sqlalchemy as sa
from sqlalchemy.exc import IntegrityError, StatementError

from dashboard.db import Database, ExactText, JSONColumn, LongText, UTCDateTime, clock, reading
from dashboard.models.record import INNODB

TABLE = sa.Table(
    "of_each_type",
    sa.MetaData(),
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("name", ExactText(8), unique=True),
    sa.Column("at", UTCDateTime),
    sa.Column("text", LongText),
    sa.Column("json", JSONColumn),
    **INNODB,
)
NOON = datetime(2026, 11, 30, 12, 0, 0, 123457, tzinfo=UTC)
# The engines keep different parts of all times; these all of them keep.
EDGES = (
    datetime(1970, 1, 1, 0, 0, 0, 1, tzinfo=UTC),
    datetime(2026, 3, 29, 1, 30, 0, 999999, tzinfo=UTC),
    datetime(2038, 1, 19, 3, 14, 8, 0, tzinfo=UTC),
    datetime(9998, 12, 31, 23, 59, 59, 999999, tzinfo=UTC),
)


@pytest.fixture
def table(empty_database: Database) -> Iterator[Database]:
    TABLE.create(empty_database.engine)
    yield empty_database
    TABLE.drop(empty_database.engine)


def put(database: Database, **values: Any) -> None:
    with database.engine.begin() as connection:
        connection.execute(TABLE.insert().values(**values))


def only(database: Database, column: str) -> Any:
    with database.engine.connect() as connection:
        return connection.execute(sa.select(TABLE.c[column])).scalar_one()


def test_moments_keep_their_microseconds(table: Database) -> None:
    for number, at in enumerate(EDGES, start=1):
        put(table, id=number, at=at)
    with table.engine.connect() as connection:
        assert list(connection.scalars(sa.select(TABLE.c.at).order_by(TABLE.c.id))) == list(EDGES)
        assert list(connection.scalars(sa.select(TABLE.c.at).where(TABLE.c.at == EDGES[1]))) == [EDGES[1]]


@pytest.mark.parametrize("zone", [ZoneInfo("Asia/Kathmandu"), timezone(timedelta(hours=-8))])
def test_a_moment_of_any_zone_comes_back_as_the_same_moment_in_utc(table: Database, zone: Any) -> None:
    put(table, at=NOON.astimezone(zone))
    assert only(table, "at") == NOON
    assert only(table, "at").tzinfo == UTC


def test_a_naive_moment_is_refused(table: Database) -> None:
    naive = NOON.replace(tzinfo=None)
    with pytest.raises(StatementError, match="without a zone"):
        put(table, at=naive)
    with pytest.raises(StatementError, match="without a zone"), table.engine.connect() as connection:
        connection.execute(sa.select(TABLE).where(TABLE.c.at > naive))


@pytest.mark.parametrize("other", ["KEY", "Key", "key ", " key", "kéy", "ke\u0301y", "ｋey"])
def test_keys_that_only_look_alike_are_different(table: Database, other: str) -> None:
    put(table, name="key")
    put(table, name=other)
    with table.engine.connect() as connection:
        for name in ("key", other):
            assert list(connection.scalars(sa.select(TABLE.c.name).where(TABLE.c.name == name))) == [name]


@pytest.mark.parametrize("name", ["key", "key ", "😀😀😀😀😀😀😀😀", ""])
def test_the_same_key_is_refused(table: Database, name: str) -> None:
    put(table, name=name)
    with pytest.raises(IntegrityError):
        put(table, name=name)


def test_keys_are_ordered_by_code_point(table: Database) -> None:
    names = ["A", "B", "a", "b", "é", "ｋ"]
    for name in reversed(names):
        put(table, name=name)
    with table.engine.connect() as connection:
        assert list(connection.scalars(sa.select(TABLE.c.name).order_by(TABLE.c.name))) == names


@pytest.mark.parametrize("value", ["nine char", "nul\0", "half\ud83d"])
@pytest.mark.parametrize("column", ["name", "text"])
def test_text_that_not_every_engine_takes_is_refused(table: Database, column: str, value: str) -> None:
    if column == "text" and value == "nine char":
        value = "\udfff"
    with pytest.raises(StatementError):
        put(table, **{column: value})


def test_long_text_and_json_come_back_as_they_were(table: Database) -> None:
    text = "😀 \r\n\t</script> " * 20_000
    held = {"z": 1, "a": [None, True, "é😀", {"deep": 1.5}], "big": 2**53}
    put(table, text=text, json=held)
    assert (only(table, "text"), only(table, "json")) == (text, held)


def test_the_clock_is_the_database_s_and_in_utc(empty_database: Database) -> None:
    with reading(empty_database) as session:
        first, second = clock(session), clock(session)
    assert first.tzinfo == UTC
    assert first <= second
    assert abs(datetime.now(UTC) - first) < timedelta(minutes=1)
