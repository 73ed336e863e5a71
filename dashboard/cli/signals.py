"""SIGTERM ends a command like Ctrl-C does: the unit in hand is undone, what is open is closed, then it ends."""

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

from dashboard.cli.errors import TERMINATED


@contextmanager
def stopping_on_sigterm() -> Iterator[None]:
    """Turn SIGTERM into SystemExit for the length of a block."""
    before = signal.signal(signal.SIGTERM, _stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _stop(_signal: int, _frame: object) -> NoReturn:
    # A second one must not break into the closing.
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    sys.exit(TERMINATED)
