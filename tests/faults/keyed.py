"""What the tests of faults of idempotency keys share."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from dashboard.db import Database, reading
from dashboard.services import audit
from tests.faults import host
from tests.faults.conftest import ROOT
from tests.services.reserving import records

WRONG_CLOCK = ROOT / "tests" / "faults" / "shifted_clock"


def facts(database: Database) -> tuple[int, list[str]]:
    """How many effects the destination counted, and the states of the records; the audit log must verify."""
    with reading(database) as session:
        assert audit.verify(session).intact
    return len(host.effects()), [row.state for row in records(database)]


def program(database: Database, *, requests: int = 1, **environment: str) -> subprocess.Popen[bytes]:
    """The host as a process of its own that gets so many requests at once."""
    url = database.url.render_as_string(hide_password=False)
    command = [sys.executable, "-m", "tests.faults.key_host", str(requests)]
    settings = {**os.environ, "DASHBOARD_DATABASE_URL": url, **environment}
    settings["PYTHONPATH"] = os.pathsep.join(filter(None, (environment.get("PYTHONPATH"), str(ROOT))))
    return subprocess.Popen(command, cwd=ROOT, env=settings, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def answers(process: subprocess.Popen[bytes]) -> list[tuple[int, str]]:
    """What its requests were answered."""
    said, complaints = process.communicate(timeout=120)
    assert process.returncode == 0, complaints.decode()
    found: list[Any] = json.loads(said)
    return [(status, body) for status, body in found]


def effects_in(folder: Path, monkeypatch: Any) -> None:
    """Let the destination count in a file of the test's own."""
    monkeypatch.setenv("EFFECTS", str(folder / "effects"))
