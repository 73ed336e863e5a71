"""The estimate against naive counting where nothing is missing, and by hand where something is."""

from datetime import timedelta
from math import ceil

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboard.domain.survival import Duration, percentile, survival

LENGTHS = st.lists(st.integers(0, 10_000), min_size=1, max_size=200)
SHARES = st.integers(1, 100)


def seconds(*lengths: int, censored: bool = False) -> list[Duration]:
    return [Duration(timedelta(seconds=length), censored) for length in lengths]


@given(LENGTHS, SHARES)
def test_without_anything_missing_it_is_the_nearest_rank(lengths: list[int], share: int) -> None:
    rank = ceil(len(lengths) * share / 100)
    assert percentile(survival(seconds(*lengths)), share / 100) == timedelta(seconds=sorted(lengths)[rank - 1])


@given(LENGTHS, LENGTHS, SHARES)
def test_what_is_missing_never_makes_the_rest_look_faster(arrived: list[int], missing: list[int], share: int) -> None:
    alone = percentile(survival(seconds(*arrived)), share / 100)
    together = percentile(survival(seconds(*arrived) + seconds(*missing, censored=True)), share / 100)
    assert together is None or (alone is not None and together >= alone)


@given(LENGTHS, LENGTHS)
def test_the_share_on_its_way_only_falls(arrived: list[int], missing: list[int]) -> None:
    steps = survival(seconds(*arrived) + seconds(*missing, censored=True))
    shares = [step.surviving for step in steps]
    assert shares == sorted(shares, reverse=True)
    assert all(0 <= share < 1 for share in shares)
    assert [step.length for step in steps] == sorted({step.length for step in steps})


def test_the_example_of_a_textbook() -> None:
    # Ten watched; arrivals at 1, 3, 3, 6; 2, 4 and 7 were lost; three are still on their way after 10.
    watched = seconds(1, 3, 3, 6) + seconds(2, 4, 7, 10, 10, 10, censored=True)
    shares = [step.surviving for step in survival(watched)]
    assert shares == pytest.approx([9 / 10, 9 / 10 * 6 / 8, 9 / 10 * 6 / 8 * 4 / 5])


def test_a_percentile_that_too_few_reached_is_unknown() -> None:
    assert percentile(survival(seconds(1) + seconds(5, censored=True)), 0.95) is None
    assert percentile(survival([]), 0.5) is None
