"""Commands that work on until they are told to stop: Ctrl-C and SIGTERM let them finish the unit in hand."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from dashboard.cli.errors import INTERRUPTED, TERMINATED

STATUSES = {signal.SIGINT: INTERRUPTED, signal.SIGTERM: TERMINATED}


class Stopping:
    """Whether the command was told to stop, and the exit status that this means; told twice, it ends at once."""

    def __init__(self) -> None:
        self.stop = threading.Event()
        self.status = 0

    def tell(self, number: int, _frame: object) -> None:
        if self.stop.is_set():
            raise SystemExit(STATUSES[signal.Signals(number)])
        self.status = STATUSES[signal.Signals(number)]
        self.stop.set()


@contextmanager
def stopping_gently() -> Iterator[Stopping]:
    """Take the signals for the length of a block."""
    stopping = Stopping()
    before = {number: signal.signal(number, stopping.tell) for number in STATUSES}
    try:
        yield stopping
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
