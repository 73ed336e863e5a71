"""Throwaway databases and brokers on loopback, each started by the first test that needs it and ended with the run."""

import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

import pymysql
import pytest

START_SECONDS = 60
QUIET: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}


def missing(what: str) -> NoReturn:
    """Skip the test by name where something is not installed; on CI that is a failure."""
    if os.environ.get("CI"):
        pytest.fail(f"{what} is not installed, and CI must have it")
    pytest.skip(f"{what} is not installed")


def free_port() -> int:
    """A loopback port that was free a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@dataclass(frozen=True)
class Server:
    """A database server that a test may stop and start again, on the same port and files; `url` names no database."""

    url: str
    stop: Callable[[], None]
    start: Callable[[], None]


@contextmanager
def postgresql() -> Iterator[str]:
    """A PostgreSQL server; yields its URL without a database name."""
    with restartable_postgresql() as server:
        yield server.url


@contextmanager
def mariadb() -> Iterator[str]:
    """A MariaDB server; yields its URL without a database name."""
    with restartable_mariadb() as server:
        yield server.url


@contextmanager
def restartable_postgresql() -> Iterator[Server]:
    """A PostgreSQL server in a time zone of its own; it stops as in a crash."""
    bindir = _postgresql_programs()
    with _folder("postgres") as folder:
        files, port, user = folder / "files", free_port(), _as_user("postgres")
        initdb = [*user, str(bindir / "initdb"), "-D", str(files), "-A", "trust", "-U", "tester", "-E", "UTF8"]
        _finish([*initdb, "--locale=C"])
        options = f"-p {port} -c listen_addresses=127.0.0.1 -c fsync=off -c timezone=Asia/Kathmandu -k {folder}"
        control = [*user, str(bindir / "pg_ctl"), "-D", str(files), "-w", "-t", str(START_SECONDS)]
        starting = [*control, "-o", options, "-l", str(folder / "log"), "start"]
        start = partial(_run, starting)
        stop = partial(_run, [*control, "-m", "immediate", "stop"])
        start()
        try:
            yield Server(f"postgresql://tester@127.0.0.1:{port}", stop=stop, start=start)
        finally:
            stop()


@contextmanager
def restartable_mariadb() -> Iterator[Server]:
    """A MariaDB server in a time zone of its own; what it committed is on disk once it stopped."""
    server, install = shutil.which("mariadbd"), shutil.which("mariadb-install-db")
    if server is None or install is None:
        missing("MariaDB")
    with _folder("mysql") as folder:
        files, temporary, port, user = folder / "files", folder / "temporary", free_port(), _as_user("mysql")
        _run([*user, "mkdir", str(temporary)])
        # Asynchronous I/O is rationed by the kernel, and several servers at once can use up the ration.
        # A server that starts deletes the temporary tables it finds, so each keeps its own apart.
        own = ["--no-defaults", f"--datadir={files}", f"--tmpdir={temporary}", "--innodb-use-native-aio=0"]
        _finish([*user, install, *own, "--auth-root-authentication-method=normal"])
        running = [*user, server, *own, f"--port={port}", f"--socket={folder}/socket"]
        running += ["--bind-address=127.0.0.1", f"--pid-file={folder}/pid", "--default-time-zone=-08:00"]
        running += ["--innodb-flush-log-at-trx-commit=0", "--skip-log-bin"]
        processes: list[subprocess.Popen[bytes]] = []

        def start() -> None:
            processes.append(subprocess.Popen(running, **QUIET))
            _wait_for_mariadb(port)

        def stop() -> None:
            processes[-1].terminate()
            processes[-1].wait(START_SECONDS)

        try:
            start()
            yield Server(f"mariadb://root@127.0.0.1:{port}", stop=stop, start=start)
        finally:
            stop()


@contextmanager
def rabbitmq() -> Iterator[str]:
    """A RabbitMQ broker with a name, files, ports and a port mapper of its own; yields its URL."""
    server = Path("/usr/lib/rabbitmq/bin/rabbitmq-server")
    mapper = shutil.which("epmd")
    if not server.exists() or mapper is None:
        missing("RabbitMQ")
    with _folder("rabbitmq") as folder:
        port, mapper_port, user = free_port(), str(free_port()), _as_user("rabbitmq")
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(folder),
            "ERL_EPMD_PORT": mapper_port,
            "ERL_EPMD_ADDRESS": "127.0.0.1",
            "RABBITMQ_NODENAME": f"tests{port}@localhost",
            "RABBITMQ_NODE_IP_ADDRESS": "127.0.0.1",
            "RABBITMQ_NODE_PORT": str(port),
            "RABBITMQ_DIST_PORT": str(free_port()),
            "RABBITMQ_CONF_ENV_FILE": "/dev/null",
            "RABBITMQ_CONFIG_FILE": str(folder / "none"),
            "RABBITMQ_MNESIA_BASE": str(folder / "files"),
            "RABBITMQ_LOG_BASE": str(folder / "log"),
            "RABBITMQ_ENABLED_PLUGINS_FILE": str(folder / "plugins"),
            "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": "+S 1:1 +sbwt none",
        }
        with (
            _running([*user, mapper, "-address", "127.0.0.1", "-port", mapper_port], environment),
            _running([*user, str(server)], environment) as broker,
        ):
            _wait_for_port(port, broker)
            yield f"amqp://guest:guest@127.0.0.1:{port}//"


@contextmanager
def redis() -> Iterator[str]:
    """A Redis server that keeps nothing; yields its URL."""
    server = shutil.which("redis-server")
    if server is None:
        missing("Redis")
    port = free_port()
    with (
        _folder("redis") as folder,
        _running(
            [*_as_user("redis"), server, "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", str(folder)]
        ) as process,
    ):
        _wait_for_port(port, process)
        yield f"redis://127.0.0.1:{port}/0"


@contextmanager
def _running(command: list[str], environment: dict[str, str] | None = None) -> Iterator[subprocess.Popen[bytes]]:
    """A program that runs for the length of a block."""
    process = subprocess.Popen(command, env=environment, **QUIET)
    try:
        yield process
    finally:
        process.terminate()
        process.wait(START_SECONDS)


def _wait_for_port(port: int, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return
        time.sleep(0.1)
    raise TimeoutError(f"{process.args!r} did not start")


def _postgresql_programs() -> Path:
    config = shutil.which("pg_config")
    if config is None:
        missing("PostgreSQL")
    bindir = Path(subprocess.check_output([config, "--bindir"], text=True).strip())
    if not (bindir / "initdb").exists():
        missing("PostgreSQL")
    return bindir


def _run(command: list[str]) -> None:
    subprocess.run(command, check=True, **QUIET)


def _finish(command: list[str]) -> None:
    """Run a command to its end; what it said is shown only where it failed."""
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{command[-1]} ended with {done.returncode}: {done.stdout}{done.stderr}")


def _wait_for_mariadb(port: int) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        with suppress(pymysql.err.OperationalError):
            pymysql.connect(host="127.0.0.1", port=port, user="root").close()
            return
        time.sleep(0.1)
    raise TimeoutError("MariaDB did not start")


def _as_user(name: str) -> list[str]:
    """The words before a command that make root run it as an ordinary user: servers refuse to run as root."""
    return ["setpriv", "--reuid", name, "--regid", name, "--clear-groups"] if os.getuid() == 0 else []


@contextmanager
def _folder(owner: str) -> Iterator[Path]:
    """A folder that the server's own user can reach; not below pytest's, which only its owner may enter."""
    with tempfile.TemporaryDirectory(prefix="server-") as name:
        if os.getuid() == 0:
            shutil.chown(name, owner)
        yield Path(name)
