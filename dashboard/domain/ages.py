"""The buckets by which ages are shown; each moment lies in exactly one."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta

from dashboard.domain.policy import Policies


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


@dataclass(frozen=True)
class WindowBucket:
    """Ages from `lower` up to but not including `upper` windows of the policy of a type; None: no upper end."""

    name: str
    lower: int
    upper: int | None


WINDOW_BUCKETS: tuple[WindowBucket, ...] = (
    WindowBucket("under_1", 0, 1),
    WindowBucket("1_to_2", 1, 2),
    WindowBucket("2_to_4", 2, 4),
    WindowBucket("4_to_8", 4, 8),
    WindowBucket("over_8", 8, None),
)


@dataclass(frozen=True)
class Windows:
    """How long the window of each type is; `default` is that of all others."""

    default: timedelta = timedelta(minutes=5)
    by_type: Mapping[str, timedelta] = field(default_factory=dict)

    def of(self, operation_type: str) -> timedelta:
        """The window of one type."""
        return self.by_type.get(operation_type, self.default)


def windows_of(policies: Policies) -> Windows:
    """The windows that these policies give to their types."""
    return Windows(policies.defaults.window.after, {name: each.window.after for name, each in policies.types.items()})
