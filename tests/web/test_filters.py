"""Query strings are read strictly and written whole."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from flask import Flask, request
from hypothesis import given
from hypothesis import strategies as st
from werkzeug.datastructures import MultiDict

from dashboard.domain.errors import InvalidInputError
from dashboard.edge import filters, operation_filters
from dashboard.queries.keyset import Page, Position
from dashboard.web.operation_filters import NAMES

MADRID = ZoneInfo("Europe/Madrid")


def args(**values: str) -> filters.Args:
    return MultiDict(values)


@pytest.mark.parametrize(
    ("text", "age"),
    [
        ("90s", timedelta(seconds=90)),
        ("15m", timedelta(minutes=15)),
        ("2h", timedelta(hours=2)),
        ("3d", timedelta(days=3)),
        ("2w", timedelta(weeks=2)),
        ("45", timedelta(seconds=45)),
        (" 1h ", timedelta(hours=1)),
        ("0", timedelta()),
        ("", None),
    ],
)
def test_an_age_is_a_number_and_a_unit(text: str, age: timedelta | None) -> None:
    assert filters.parse_age(args(min_age=text), "min_age") == age


@pytest.mark.parametrize("text", ["-1h", "1.5h", "1y", "h", "1h30m", "٣d", "9999999999w", "36526d", "1h\x00"])
def test_what_is_no_age_is_refused(text: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        filters.parse_age(args(min_age=text), "min_age")
    assert caught.value.problems[0].field == "min_age"


@given(st.integers(0, 36525 * 86400))
def test_an_age_is_read_as_it_is_written(seconds: int) -> None:
    age = timedelta(seconds=seconds)
    assert filters.parse_age(args(min_age=filters.written_age(age)), "min_age") == age


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2026-11-30", datetime(2026, 11, 29, 23, tzinfo=UTC)),
        ("2026-07-01", datetime(2026, 6, 30, 22, tzinfo=UTC)),
        ("2026-11-30T12:00", datetime(2026, 11, 30, 11, tzinfo=UTC)),
        ("2026-11-30T12:00:00.123456Z", datetime(2026, 11, 30, 12, 0, 0, 123456, tzinfo=UTC)),
        ("2026-11-30T12:00:00+05:45", datetime(2026, 11, 30, 6, 15, tzinfo=UTC)),
    ],
)
def test_a_time_without_a_zone_is_in_the_zone_of_the_person(text: str, moment: datetime) -> None:
    assert filters.parse_moment(args(created_from=text), "created_from", zone=MADRID) == moment


@pytest.mark.parametrize("text", ["yesterday", "2026-13-01", "0001-01-01", "9999-12-31T23:59:59Z", "12:00", "1e9"])
def test_what_is_no_time_is_refused(text: str) -> None:
    with pytest.raises(InvalidInputError, match="created_from"):
        filters.parse_moment(args(created_from=text), "created_from", zone=MADRID)


@pytest.mark.parametrize("limit", ["0", "201", "-1", "ten", "1.0", "٣", "1000000000000"])
def test_a_page_has_1_to_200_rows(limit: str) -> None:
    with pytest.raises(InvalidInputError, match="limit"):
        filters.parse_position(args(limit=limit))


def test_a_page_has_50_rows_unless_told_otherwise() -> None:
    assert filters.parse_position(args(limit="", after="")) == Position(None, None, 50)
    assert filters.parse_position(args(limit="200")).limit == 200


def test_a_page_does_not_begin_behind_one_row_and_end_before_another() -> None:
    with pytest.raises(InvalidInputError, match="before"):
        filters.parse_position(args(after="a", before="b"))


def test_a_choice_out_of_a_list_is_refused_with_what_is_allowed() -> None:
    with pytest.raises(InvalidInputError) as caught:
        filters.parse_choice_set(
            MultiDict([("state", "open"), ("state", "shut\u202e"), ("state", "")]), "state", ["open"]
        )
    [problem] = caught.value.problems
    assert (problem.field, problem.details) == ("state", {"value": "shut\\u202e", "allowed": ("open",)})


@pytest.mark.parametrize("value", ["x" * 65, "nul\x00"])
def test_text_that_no_column_holds_is_refused(value: str) -> None:
    with pytest.raises(InvalidInputError, match="type"):
        filters.parse_text_set(args(type=value), "type", maximum=64)


def test_an_address_keeps_everything_but_what_changes(app: Flask) -> None:
    with app.test_request_context("/operations?state=a&state=b&limit=5&after=cursor&utm=1"):
        assert filters.url_with(limit=9) == "/operations?state=a&state=b&utm=1&limit=9"
        assert filters.url_with(state=None, limit=None, utm=None) == "/operations"
        assert filters.url_without("state", "a") == "/operations?limit=5&utm=1&state=b"
        assert filters.url_without("state") == "/operations?limit=5&utm=1"


def test_an_address_carries_any_text(app: Flask) -> None:
    with app.test_request_context("/operations"):
        url = filters.url_with(type="a&b=c d#é%")
    with app.test_request_context(url):
        assert request.args.getlist("type") == ["a&b=c d#é%"]


def test_the_pages_around_one_are_asked_for_by_its_cursors(app: Flask) -> None:
    with app.test_request_context("/operations?state=a&before=here&limit=5"):
        previous, following = filters.page_urls(Page([], "next", "previous"))
        assert previous == "/operations?state=a&limit=5&before=previous"
        assert following == "/operations?state=a&limit=5&after=next"
        assert filters.page_urls(Page([], None, None)) == (None, None)


def test_every_filter_that_is_read_has_a_name_on_screen_and_no_other() -> None:
    assert sorted(NAMES) == sorted(operation_filters.NAMES)
