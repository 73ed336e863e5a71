"""The product's own commands as processes beside a benchmark."""

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

SECONDS_TO_STOP = 60
LOG = "log"


@contextmanager
def running(
    arguments: Sequence[str], *, url: str, folder: Path, count: int = 1, environment: Mapping[str, str]
) -> Iterator[list[subprocess.Popen[bytes]]]:
    """Run `dashboard ARGUMENTS` so many times on the database of this URL; what they say goes to `folder/log`."""
    own = {name: value for name, value in os.environ.items() if name != "DASHBOARD_POLICIES"}
    own |= {"DASHBOARD_DATABASE_URL": url, **environment}
    processes: list[subprocess.Popen[bytes]] = []
    with (folder / LOG).open("ab") as log:
        try:
            for _ in range(count):
                command = [sys.executable, "-m", "dashboard", *arguments]
                processes.append(subprocess.Popen(command, env=own, stdout=log, stderr=log))  # noqa: S603 - our own
            yield processes
        finally:
            _end(processes)


def last_words(folder: Path) -> str:
    """The last line that the commands wrote."""
    lines = (folder / LOG).read_text(encoding="utf-8", errors="replace").strip().splitlines()
    return lines[-1] if lines else "it said nothing"


def _end(processes: Sequence[subprocess.Popen[bytes]]) -> None:
    for process in processes:
        process.terminate()
    for process in processes:
        try:
            process.wait(SECONDS_TO_STOP)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
