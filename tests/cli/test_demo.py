import os
import re
import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from dashboard.db import Database, reading
from dashboard.services import audit, users
from tests.architecture.tree import ROOT
from tests.cli.conftest import Run
from tests.import_file import counted


@contextmanager
def started(folder: Path, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """The command as a process of its own, ended by SIGTERM if it still runs."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(folder), "PYTHONUNBUFFERED": "1"}
    command = [sys.executable, "-m", "dashboard", *arguments]
    with subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.terminate()
            process.communicate()


def address_of(process: subprocess.Popen[str]) -> str:
    assert process.stdout
    for line in process.stdout:
        if found := re.search(r"http://\S+", line):
            return found.group()
    raise AssertionError("it ended without an address")


def is_answering(address: str) -> bool:
    with urllib.request.urlopen(f"{address}login") as answer:  # noqa: S310 - an address of ours
        return bool(answer.status == 200)


def test_it_serves_beside_a_taken_port_and_sigterm_ends_it_cleanly(folder: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with started(folder, "demo", "--port", str(port)) as process:
            address = address_of(process)
            assert is_answering(address)
            assert f":{port}/" not in address
            assert process.stdout
            told = [process.stdout.readline() for _ in range(5)]
            process.terminate()
            assert process.wait(timeout=20) == 0
    assert [line.split("@")[0].strip() for line in told[1:]] == ["support", "operator", "manager", "admin"]
    assert list(folder.iterdir()) == []


def test_ctrl_c_ends_it_cleanly(folder: Path) -> None:
    # Where the tests run in the background, Ctrl-C is ignored, and a child would inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    with started(folder, "demo", "--port", "18600") as process:
        assert is_answering(address_of(process))
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=20) == 0
    assert list(folder.iterdir()) == []


def test_it_can_stand_still(folder: Path) -> None:
    with started(folder, "demo", "--no-live", "--port", "18620") as process:
        assert is_answering(address_of(process))
        assert process.stdout
        assert any("stands still" in process.stdout.readline() for _ in range(7))


def test_it_keeps_a_shop_with_one_person_a_role(run: Run, folder: Path) -> None:
    first = run("demo", "--no-serve", "--database", folder / "shop.sqlite3")
    second = run("demo", "--no-serve", "--database", folder / "shop.sqlite3")
    assert (first.status, second.status) == (0, 0), first.err
    database = Database(f"sqlite:///{folder}/shop.sqlite3")
    assert 580 <= counted(database)[0] <= 640
    with reading(database) as session:
        assert [person.email.split("@")[0] for person in users.list_users(session)] == [
            "admin",
            "manager",
            "operator",
            "support",
        ]
        assert audit.verify(session).checked == 6
    database.dispose()


def test_not_serving_a_shop_that_is_not_kept_makes_no_sense(run: Run) -> None:
    assert run("demo", "--no-serve").status == 2
