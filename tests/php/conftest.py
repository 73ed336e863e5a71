"""The PHP example as processes of its own, on PostgreSQL and MariaDB."""

import json
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from dashboard.db import Database
from tests.architecture.tree import ROOT
from tests.servers import missing

EXAMPLE = ROOT / "examples" / "php"
EXTENSIONS = {"pdo_pgsql", "pdo_mysql"}


@pytest.fixture(scope="session")
def php() -> str:
    """The PHP to run, with its database drivers."""
    program = shutil.which("php")
    if program is None:
        missing("PHP")
    modules = subprocess.check_output([program, "-m"], text=True).split()
    if not set(modules) >= EXTENSIONS:
        missing("PDO for PostgreSQL and MySQL")
    return program


@dataclass(frozen=True)
class Shop:
    """The shop of the example on one database, and the file that plays its payment provider."""

    php: str
    database: Database
    file: Path

    def start(self, *arguments: str, misbehave: str = "") -> subprocess.Popen[str]:
        url = self.database.url
        driver = "pgsql" if self.database.dialect == "postgresql" else "mysql"
        charset = ";charset=utf8mb4" if driver == "mysql" else ""
        environment = {
            **os.environ,
            "DSN": f"{driver}:host={url.host};port={url.port};dbname={url.database}{charset}",
            "DB_USER": str(url.username),
            "CHARGES": str(self.file),
            "FIELD_SECRET": "a secret of the shop",
            "MISBEHAVE": misbehave,
        }
        command = [self.php, str(EXAMPLE / "shop.php"), *arguments]
        return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def run(self, *arguments: str, misbehave: str = "") -> Any:
        """What the command answers; None where it died."""
        process = self.start(*arguments, misbehave=misbehave)
        out, err = process.communicate(timeout=60)
        assert process.returncode in {0, -9}, err
        return json.loads(out) if process.returncode == 0 else None

    def charges(self) -> list[str]:
        """What the payment provider counted."""
        return self.file.read_text(encoding="utf-8").splitlines() if self.file.exists() else []


@pytest.fixture(params=["postgresql", "mariadb"])
def engine_name(request: pytest.FixtureRequest) -> str:
    """The engines that PHP hosts use here."""
    name: str = request.param
    return name


@pytest.fixture
def shop(php: str, database: Database, tmp_path: Path) -> Shop:
    return Shop(php, database, tmp_path / "charges")
