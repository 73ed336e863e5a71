"""The handler that workers run in a benchmark: it makes no effect and notes each call in a file of its process."""

import os
from functools import cache
from pathlib import Path

from dashboard.bench.scratch import TYPE
from dashboard.ledger import Confirmed, Handlers, Work

CALLS = "OPERATIONS_BENCH_CALLS"

handlers = Handlers()


@handlers.handles(TYPE, single_request=True)
def note(work: Work) -> Confirmed:
    """Note the call and confirm."""
    os.write(_file(), f"{work.number}\n".encode())
    return Confirmed(work.operation_id)


@cache
def _file() -> int:
    return os.open(Path(os.environ[CALLS]) / str(os.getpid()), os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
