"""Measuring what a team would use instead, in a process of a Python that has it."""

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dashboard.bench import shop
from dashboard.engines import normalise_url

PROGRAM = Path(__file__).with_name("peers.py")


def beside(url: str, *, python: Path | None) -> Sequence[Mapping[str, Any]]:
    """What each page of the others took; one that is not installed is named, and so is what went wrong."""
    target = normalise_url(url).render_as_string(hide_password=False)
    command = [str(python or sys.executable), "-W", "ignore", str(PROGRAM), shop.COMMON_TYPE]
    # The URL may hold a password, which arguments show to everybody on the machine.
    done = subprocess.run(command, input=target, capture_output=True, text=True, check=False)  # noqa: S603 - our own
    if done.returncode:
        return [{"name": "All", "missing": (done.stderr.strip().splitlines() or ["it said nothing"])[-1]}]
    found: Sequence[Mapping[str, Any]] = json.loads(done.stdout)
    return found
