"""Durations as counts in 512 fixed buckets: small, mergeable, and right to 4 % at worst.

Bucket n holds milliseconds from 2^(n/16) up to the next; what is shorter than one millisecond lies in the first,
and what is longer than 48 days in the last. A stored histogram names only the buckets that have a count.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta

BUCKETS = 512
PER_DOUBLING = 16


@dataclass(frozen=True)
class Histogram:
    """How many durations lie in each bucket."""

    buckets: Mapping[int, int] = field(default_factory=dict)

    @property
    def count(self) -> int:
        """How many durations it holds."""
        return sum(self.buckets.values())

    def percentile(self, share: float) -> timedelta | None:
        """The nearest-rank percentile (0.95 for p95), estimated to within 4 %; None where there is nothing."""
        held = sorted((bucket, count) for bucket, count in self.buckets.items() if count > 0)
        rank = max(math.ceil(share * sum(count for _, count in held)), 1)
        for bucket, count in held:
            rank -= count
            if rank <= 0:
                return timedelta(milliseconds=_middle(bucket))
        return None

    def share_within(self, length: timedelta) -> float | None:
        """The share of durations that are no longer than this, estimated as if they lay evenly within their bucket."""
        if self.count <= 0:
            return None
        milliseconds = length / timedelta(milliseconds=1)
        cut = bucket_of(milliseconds)
        lower, upper = 2 ** (cut / PER_DOUBLING), 2 ** ((cut + 1) / PER_DOUBLING)
        part = min(max((milliseconds - lower) / (upper - lower), 0.0), 1.0)
        below = sum(count for bucket, count in self.buckets.items() if bucket < cut)
        return min(max((below + self.buckets.get(cut, 0) * part) / self.count, 0.0), 1.0)


def bucket_of(milliseconds: float) -> int:
    """The bucket of a duration; a negative one counts as none at all."""
    if milliseconds < 1:
        return 0
    return min(math.floor(PER_DOUBLING * math.log2(milliseconds)), BUCKETS - 1)


def of_durations(milliseconds: Iterable[float]) -> Histogram:
    """The histogram of these durations."""
    return Histogram(Counter(bucket_of(each) for each in milliseconds))


def merge(histograms: Iterable[Histogram]) -> Histogram:
    """Add up; counts may be negative where a duration is taken back."""
    total: Counter[int] = Counter()
    for histogram in histograms:
        total.update(histogram.buckets)
    return Histogram({bucket: count for bucket, count in total.items() if count})


def encode(histogram: Histogram) -> bytes:
    """Bytes of at most a few a bucket in use: the gap to the bucket before, then the count, each a varint."""
    encoded, before = bytearray(), 0
    for bucket, count in sorted(histogram.buckets.items()):
        if count:
            encoded += _varint(bucket - before) + _varint(_unsigned(count))
            before = bucket
    return bytes(encoded)


def decode(encoded: bytes) -> Histogram:
    """What `encode` made; ValueError where it is cut off."""
    numbers, number, shift = [], 0, 0
    for byte in encoded:
        number |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:  # noqa: PLR2004 - the highest bit says that more follows
            numbers.append(number)
            number = shift = 0
    if shift or len(numbers) % 2:
        raise ValueError("the histogram is cut off")
    buckets, bucket = {}, 0
    for gap, count in zip(numbers[::2], numbers[1::2], strict=True):
        bucket += gap
        buckets[bucket] = _signed(count)
    return Histogram(buckets)


def _middle(bucket: int) -> float:
    """The value of a bucket that is as far from its lower end as from its upper one, in per cent."""
    lower = 2 ** (bucket / PER_DOUBLING)
    upper = 2 ** ((bucket + 1) / PER_DOUBLING)
    return 2 * lower * upper / (lower + upper)


def _varint(number: int) -> bytes:
    encoded = bytearray()
    while number >= 0x80:  # noqa: PLR2004 - seven bits a byte
        encoded.append(number & 0x7F | 0x80)
        number >>= 7
    encoded.append(number)
    return bytes(encoded)


def _unsigned(number: int) -> int:
    """Small numbers stay small whatever their sign."""
    return number * 2 if number >= 0 else -number * 2 - 1


def _signed(number: int) -> int:
    return number // 2 if number % 2 == 0 else -(number + 1) // 2
