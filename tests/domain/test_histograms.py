"""Durations in fixed buckets are estimated to within 4 %, and histograms add up and survive being stored."""

import math
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboard.domain.histograms import BUCKETS, Histogram, bucket_of, decode, encode, merge, of_durations

TIMES = st.lists(st.integers(1, 4 * 10**9), min_size=1, max_size=200)
HISTOGRAMS = st.dictionaries(st.integers(0, BUCKETS - 1), st.integers(-(10**12), 10**12).filter(bool)).map(Histogram)


@given(TIMES, st.sampled_from([0.5, 0.95, 0.99, 1.0]))
def test_a_percentile_is_right_to_four_per_cent(times: list[int], share: float) -> None:
    exact = sorted(times)[math.ceil(share * len(times)) - 1]
    estimated = of_durations(times).percentile(share)
    assert estimated is not None
    assert estimated / timedelta(milliseconds=1) == pytest.approx(exact, rel=0.04)


@given(TIMES, TIMES)
def test_merging_is_the_same_as_counting_together(some: list[int], more: list[int]) -> None:
    assert merge([of_durations(some), of_durations(more)]) == of_durations(some + more)


@given(HISTOGRAMS)
def test_what_is_stored_is_read_again(histogram: Histogram) -> None:
    assert decode(encode(histogram)) == histogram


def test_a_duration_taken_back_leaves_nothing() -> None:
    assert merge([of_durations([40, 7]), Histogram({bucket_of(40): -1}), Histogram({bucket_of(7): -1})]) == Histogram()


def test_of_nothing_there_is_no_percentile() -> None:
    assert decode(b"").percentile(0.95) is None


@pytest.mark.parametrize("milliseconds", [-5, 0, 0.4])
def test_less_than_a_millisecond_lies_in_the_first_bucket(milliseconds: float) -> None:
    assert bucket_of(milliseconds) == 0


def test_nothing_is_too_long_to_count() -> None:
    assert bucket_of(2**63) == BUCKETS - 1


def test_a_histogram_that_is_cut_off_is_refused() -> None:
    with pytest.raises(ValueError, match="cut off"):
        decode(encode(of_durations([1000, 5000]))[:-1])
