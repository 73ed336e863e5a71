"""Throwaway database servers on loopback, each started by the first test that needs it and ended with the run."""

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pymysql
import pytest

START_SECONDS = 30


def missing(what: str) -> None:
    """Skip the test by name where a server is not installed; on CI that is a failure."""
    if os.environ.get("CI"):
        pytest.fail(f"{what} is not installed, and CI must have it")
    pytest.skip(f"{what} is not installed")


def free_port() -> int:
    """A loopback port that was free a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def as_user(name: str) -> list[str]:
    """The words before a command so that root runs it as an ordinary user: servers refuse to run as root."""
    return ["setpriv", "--reuid", name, "--regid", name, "--clear-groups"] if os.getuid() == 0 else []


@contextmanager
def postgresql(folder: Path) -> Iterator[str]:
    """A PostgreSQL server in `folder`; yields its URL without a database name."""
    config = shutil.which("pg_config")
    if config is None:
        missing("PostgreSQL")
    bindir = Path(subprocess.check_output([str(config), "--bindir"], text=True).strip())
    if not (bindir / "initdb").exists():
        missing("PostgreSQL")
    _give(folder, "postgres")
    user = as_user("postgres")
    files, port = folder / "files", free_port()
    subprocess.run(
        [*user, str(bindir / "initdb"), "-D", str(files), "-A", "trust", "-U", "tester", "-E", "UTF8", "--locale=C"],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    options = f"-p {port} -c listen_addresses=127.0.0.1 -c fsync=off -c timezone=Asia/Kathmandu -k {folder}"
    control = [*user, str(bindir / "pg_ctl"), "-D", str(files), "-w", "-t", str(START_SECONDS)]
    subprocess.run([*control, "-o", options, "-l", str(folder / "log"), "start"], check=True, stdout=subprocess.DEVNULL)
    try:
        yield f"postgresql://tester@127.0.0.1:{port}"
    finally:
        subprocess.run([*control, "-m", "immediate", "stop"], check=False, stdout=subprocess.DEVNULL)


@contextmanager
def mariadb(folder: Path) -> Iterator[str]:
    """A MariaDB server in `folder`; yields its URL without a database name."""
    server, install = shutil.which("mariadbd"), shutil.which("mariadb-install-db")
    if server is None or install is None:
        missing("MariaDB")
        raise AssertionError("unreachable")
    _give(folder, "mysql")
    user, files, port = as_user("mysql"), folder / "files", free_port()
    subprocess.run(
        [*user, install, "--no-defaults", f"--datadir={files}", "--auth-root-authentication-method=normal"],
        check=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    process = subprocess.Popen(
        [
            *user,
            server,
            "--no-defaults",
            f"--datadir={files}",
            f"--port={port}",
            "--bind-address=127.0.0.1",
            f"--socket={folder}/sock",
            f"--pid-file={folder}/pid",
            "--default-time-zone=-08:00",
            "--innodb-flush-log-at-trx-commit=0",
            "--skip-log-bin",
        ],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        _wait_for_mariadb(port)
        yield f"mariadb://root@127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(START_SECONDS)


def _wait_for_mariadb(port: int) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        with suppress(pymysql.err.OperationalError):
            pymysql.connect(host="127.0.0.1", port=port, user="root").close()
            return
        time.sleep(0.1)
    raise TimeoutError("MariaDB did not start")


def _give(folder: Path, user: str) -> None:
    """Let a server's own user reach and fill its folder."""
    if os.getuid() != 0:
        return
    shutil.chown(folder, user)
    for parent in folder.parents:
        if parent.owner() == "root" and parent != Path("/"):
            parent.chmod(parent.stat().st_mode | 0o011)
