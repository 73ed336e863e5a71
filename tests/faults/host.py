"""A host for tests: its destination is a file with one line an effect, which outlives every process."""

import os
import signal
import time
from collections.abc import Mapping
from pathlib import Path

from dashboard.domain.answers import Question
from dashboard.ledger import Confirmed, Handlers, Work

handlers = Handlers()


def effects() -> list[str]:
    """The operation of each effect, in the order in which they happened."""
    path = Path(os.environ["EFFECTS"])
    return path.read_text(encoding="utf-8").splitlines() if path.exists() else []


@handlers.handles("charge_order")
def charge(work: Work) -> Confirmed:
    """Make the effect, and go wrong before or after it as the environment says."""
    behaviour = os.environ.get("BEHAVIOUR", "")
    with work.sending():
        if behaviour == "refuse":
            raise ConnectionRefusedError("connection refused")
        if behaviour == "die before":
            os.kill(os.getpid(), signal.SIGKILL)
        with Path(os.environ["EFFECTS"]).open("a", encoding="utf-8") as file:
            file.write(f"{work.operation_id}\n")
        if behaviour == "die after":
            os.kill(os.getpid(), signal.SIGKILL)
        if behaviour == "lose the answer":
            raise TimeoutError("timed out")
    time.sleep(float(os.environ.get("SECONDS", "0")))
    return Confirmed(f"ch_{work.operation_id}", {"status": "paid"})


def seen(question: Question) -> list[Mapping[str, object]]:
    """What the destination shows to a probe."""
    if os.environ.get("BEHAVIOUR") == "refuse":
        raise ConnectionRefusedError("connection refused")
    return [{"id": f"ch_{each}"} for each in effects() if each == question.operation_id]
