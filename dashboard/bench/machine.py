"""Where a figure was measured: a figure without its machine says nothing."""

import os
import platform
from pathlib import Path

from sqlalchemy import text

from dashboard.db import Database, reading

CPU = Path("/proc/cpuinfo")


def machine() -> str:
    """Processor, cores, load before the run, system and Python in one line."""
    load = f", load {os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else ""
    system = f"{platform.system()} {platform.machine()}, Python {platform.python_version()}"
    return f"{_processor()}, {os.cpu_count()} cores{load}, {system}"


def engine(database: Database) -> str:
    """The engine and its version."""
    with reading(database) as session:
        if database.dialect == "sqlite":
            return f"SQLite {session.scalar(text('SELECT sqlite_version()'))}"
        version = str(session.scalar(text("SELECT version()")))
    return version.split(" (", maxsplit=1)[0] if database.dialect == "postgresql" else f"MySQL or MariaDB {version}"


def _processor() -> str:
    if CPU.exists():
        for line in CPU.read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or "unknown processor"
