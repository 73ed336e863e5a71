"""Every age lies in exactly one bucket."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboard.domain.ages import AGE_BUCKETS, bucket_of


def test_buckets_touch_without_gap_or_overlap() -> None:
    assert AGE_BUCKETS[0].lower == timedelta(0)
    assert [bucket.upper for bucket in AGE_BUCKETS] == [*(bucket.lower for bucket in AGE_BUCKETS[1:]), None]


@given(st.timedeltas(timedelta(0), timedelta(days=4000)))
def test_an_age_lies_in_its_bucket_only(age: timedelta) -> None:
    fitting = [bucket for bucket in AGE_BUCKETS if bucket.lower <= age and (bucket.upper is None or age < bucket.upper)]
    assert fitting == [bucket_of(age)]


@pytest.mark.parametrize(
    ("age", "name"),
    [(timedelta(minutes=15), "15m_to_1h"), (timedelta(days=7), "over_7d"), (timedelta(minutes=-5), "under_15m")],
)
def test_edges(age: timedelta, name: str) -> None:
    assert bucket_of(age).name == name
