"""Whether a policy's times still fit what was measured from sending to confirmation."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum

from dashboard.domain.policy import TypePolicy
from dashboard.domain.survival import Duration, percentile, survival

FEWEST = 30
MEDIAN, MOST, NEARLY_ALL = 0.5, 0.95, 0.99


class Advice(StrEnum):
    """What the measured times say about the written ones."""

    TOO_FEW = "too_few"
    PROBES_TOO_EARLY = "probes_too_early"
    DEADLINE_TOO_SHORT = "deadline_too_short"
    LOOKS_BEFORE_LAG = "looks_before_lag"
    FITS = "fits"


@dataclass(frozen=True)
class Measured:
    """Times from sending to confirmation: how many were looked at, and how many of them are not confirmed (yet).

    A percentile is None where too many are unconfirmed to know it; `longest` is the longest that anything was watched.
    """

    size: int
    censored: int
    p50: timedelta | None
    p95: timedelta | None
    p99: timedelta | None
    longest: timedelta


def measure(durations: Sequence[Duration]) -> Measured:
    """Put the percentiles of a sample together."""
    steps = survival(durations)
    p50, p95, p99 = (percentile(steps, share) for share in (MEDIAN, MOST, NEARLY_ALL))
    return Measured(
        size=len(durations),
        censored=sum(duration.censored for duration in durations),
        p50=p50,
        p95=p95,
        p99=p99,
        longest=max((duration.length for duration in durations), default=timedelta()),
    )


def advise(measured: Measured, policy: TypePolicy) -> tuple[Advice, ...]:
    """Say what no longer fits; `fits` where nothing was found, `too_few` where nothing can be said."""
    found = tuple(_misfits(measured, policy))
    if measured.size < FEWEST:
        return (Advice.TOO_FEW, *(advice for advice in found if advice is Advice.LOOKS_BEFORE_LAG))
    return found or (Advice.FITS,)


def _misfits(measured: Measured, policy: TypePolicy) -> Iterator[Advice]:
    if policy.probe and policy.window.after < policy.visibility_lag:
        yield Advice.LOOKS_BEFORE_LAG
    if policy.probe and _is_later(measured.p95, policy.window.after, measured):
        yield Advice.PROBES_TOO_EARLY
    if _is_later(measured.p99, policy.deadline, measured):
        yield Advice.DEADLINE_TOO_SHORT


def _is_later(length: timedelta | None, limit: timedelta, measured: Measured) -> bool:
    """Whether a percentile lies behind a limit; one that is not known does as soon as anything was watched so long."""
    return measured.longest > limit if length is None else length > limit
