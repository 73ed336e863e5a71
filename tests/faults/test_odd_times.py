"""Faults 19 and 35: clocks that are wrong, remote time before ours, daylight-saving nights, and days counted right."""

from datetime import UTC, datetime, timedelta

import pytest

from dashboard.adapters.probes.reading import read_moment
from dashboard.domain.ages import bucket_of
from tests.reconciling import LAG, Payments

TEN_MINUTES = timedelta(minutes=10)


@pytest.mark.parametrize("ahead", [TEN_MINUTES, -TEN_MINUTES, timedelta(0)])
def test_a_destination_clock_ten_minutes_wrong_leads_to_the_same_decision(payments: Payments, ahead: timedelta) -> None:
    payments.destination.clock_ahead = ahead
    payments.sent()
    payments.shows()
    payments.reconcile()
    assert payments.facts() == (1, "confirmed", "correct")
    assert payments.row().confirmed_at is not None
    assert (payments.row().confirmed_at or payments.now()) >= payments.row().created_at


def test_a_stale_view_of_a_clock_that_runs_ahead_is_not_taken_for_fresh(payments: Payments) -> None:
    payments.destination.clock_ahead = timedelta(hours=2)
    payments.destination.view_age = timedelta(hours=1)
    payments.sent(ago=timedelta(minutes=30))
    payments.reconcile()
    assert payments.facts() == (0, "awaiting_confirmation", "ambiguous")
    assert payments.found()[-1] == ("ambiguous", "view_too_old", "wait", True)


def test_remote_time_before_ours_gives_no_negative_age(payments: Payments) -> None:
    payments.destination.clock_ahead = -timedelta(hours=3)
    payments.sent()
    payments.reconcile()
    assert payments.facts() == (0, "awaiting_confirmation", "ambiguous")
    assert (payments.row().next_attempt_at or payments.now()) > payments.now() - timedelta(seconds=1)
    assert bucket_of(timedelta(seconds=-30)) is bucket_of(timedelta(0))


@pytest.mark.parametrize(
    ("written", "moment"),
    [
        ("2026-10-25T02:30:00+02:00", datetime(2026, 10, 25, 0, 30, tzinfo=UTC)),
        ("2026-10-25T02:30:00+01:00", datetime(2026, 10, 25, 1, 30, tzinfo=UTC)),
        ("2026-11-30T23:59:59-08:00", datetime(2026, 12, 1, 7, 59, 59, tzinfo=UTC)),
        (1_796_000_000, datetime.fromtimestamp(1_796_000_000, UTC)),
        (1_796_000_000_500, datetime.fromtimestamp(1_796_000_000.5, UTC)),
        ("2026-11-30T23:59:59", None),
        ("yesterday", None),
        (True, None),
    ],
)
def test_times_of_destinations_are_read_with_their_zone_or_not_at_all(written: object, moment: datetime | None) -> None:
    assert read_moment(written) == moment


def test_the_lag_is_counted_in_elapsed_time(payments: Payments) -> None:
    payments.sent(ago=LAG - timedelta(minutes=1))
    payments.reconcile(window=timedelta(0))
    assert payments.found()[-1][1] == "view_too_old"
    payments.wait(timedelta(minutes=2))
    payments.reconcile(window=timedelta(0))
    assert payments.found()[-1][1] == "first_miss"
