"""How much a worker takes at once: what it can do in a few seconds, by what it learned from the last batches."""

from dashboard.services import leases

# What a worker holds at once is what it can do in this time: a crash leaves no more than that in doubt.
IN_HAND_SECONDS = 5.0


class Pace:
    """How long an operation takes here, learned from the last batches."""

    def __init__(self) -> None:
        self._seconds: float | None = None

    def limit(self, concurrency: int) -> int:
        """How many operations to claim, from one a thread up to 100."""
        if self._seconds is None:
            return concurrency
        fitting = int(IN_HAND_SECONDS * concurrency / max(self._seconds, 0.001))
        return max(concurrency, min(fitting, leases.AT_ONCE))

    def took(self, seconds: float, *, operations: int, concurrency: int) -> None:
        """Learn from a batch; the newest weighs half."""
        each = seconds * min(concurrency, operations) / operations
        self._seconds = each if self._seconds is None else (self._seconds + each) / 2
