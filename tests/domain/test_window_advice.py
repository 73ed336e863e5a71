from datetime import timedelta

import pytest

from dashboard.domain.policy import ProbeRule, TypePolicy, Window
from dashboard.domain.survival import Duration
from dashboard.domain.window_advice import Advice, advise, measure

MINUTE = timedelta(minutes=1)
POLICY = TypePolicy(
    probe=ProbeRule("http"), window=Window(after=5 * MINUTE), deadline=60 * MINUTE, visibility_lag=MINUTE
)


def sample(*minutes: float, missing: int = 0, watched: float = 10) -> list[Duration]:
    return [
        *(Duration(minute * MINUTE) for minute in minutes),
        *[Duration(watched * MINUTE, censored=True)] * missing,
    ]


@pytest.mark.parametrize(
    ("durations", "expected"),
    [
        pytest.param(sample(*[1] * 29), (Advice.TOO_FEW,), id="29 say nothing"),
        pytest.param(sample(*[1] * 30), (Advice.FITS,), id="30 do"),
        pytest.param(sample(*[1] * 90, *[6] * 10), (Advice.PROBES_TOO_EARLY,), id="one in ten comes after the look"),
        pytest.param(sample(*[1] * 96, *[6] * 4), (Advice.FITS,), id="one in twenty-five may"),
        pytest.param(sample(*[1] * 98, *[61] * 2), (Advice.DEADLINE_TOO_SHORT,), id="two in a hundred are too late"),
        pytest.param(sample(*[1] * 90, missing=10), (Advice.PROBES_TOO_EARLY,), id="unconfirmed after the look"),
        pytest.param(sample(*[1] * 90, missing=10, watched=2), (Advice.FITS,), id="unconfirmed before the look"),
        pytest.param(
            sample(*[1] * 90, missing=10, watched=99),
            (Advice.PROBES_TOO_EARLY, Advice.DEADLINE_TOO_SHORT),
            id="unconfirmed after the deadline",
        ),
    ],
)
def test_what_no_longer_fits_is_told(durations: list[Duration], expected: tuple[Advice, ...]) -> None:
    assert advise(measure(durations), POLICY) == expected


def test_a_look_before_the_lag_is_over_is_told_without_any_sample() -> None:
    hasty = TypePolicy(probe=ProbeRule("http"), window=Window(after=MINUTE), visibility_lag=2 * MINUTE)
    assert advise(measure([]), hasty) == (Advice.TOO_FEW, Advice.LOOKS_BEFORE_LAG)


def test_a_type_that_is_never_asked_is_not_asked_too_early() -> None:
    assert advise(measure(sample(*[9] * 40)), TypePolicy(deadline=60 * MINUTE)) == (Advice.FITS,)
