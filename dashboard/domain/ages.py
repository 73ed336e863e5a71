"""The buckets by which ages are shown; each moment lies in exactly one."""

from dataclasses import dataclass
from datetime import timedelta


@dataclass(frozen=True)
class AgeBucket:
    """Ages from `lower` up to but not including `upper`; the last bucket has no upper end (None)."""

    name: str
    lower: timedelta
    upper: timedelta | None


AGE_BUCKETS: tuple[AgeBucket, ...] = (
    AgeBucket("under_15m", timedelta(0), timedelta(minutes=15)),
    AgeBucket("15m_to_1h", timedelta(minutes=15), timedelta(hours=1)),
    AgeBucket("1h_to_6h", timedelta(hours=1), timedelta(hours=6)),
    AgeBucket("6h_to_24h", timedelta(hours=6), timedelta(hours=24)),
    AgeBucket("1d_to_7d", timedelta(days=1), timedelta(days=7)),
    AgeBucket("over_7d", timedelta(days=7), None),
)


def bucket_of(age: timedelta) -> AgeBucket:
    """Return the bucket of an age; a negative one (a clock ahead of ours) counts as just begun."""
    return next(bucket for bucket in AGE_BUCKETS if bucket.upper is None or age < bucket.upper)
