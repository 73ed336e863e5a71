"""The files of the checkout that the rules of the code are checked on."""

import ast
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

Function = ast.FunctionDef | ast.AsyncFunctionDef


def files(*patterns: str) -> list[Path]:
    """Give the files below the checkout that match any of these glob patterns."""
    return sorted(path for pattern in patterns for path in ROOT.glob(pattern))


def tracked_files() -> list[Path]:
    """Give the files that git tracks or would add, as far as they exist."""
    # A clone may belong to another user than the one who runs the tests.
    command = ["git", "-c", f"safe.directory={ROOT}", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    names = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return [path for name in names.split("\0") if name and (path := ROOT / name).is_file()]


def functions(path: Path) -> Iterator[Function]:
    """Give every function of a module, nested ones and methods too."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return (node for node in ast.walk(tree) if isinstance(node, Function))


def imported_modules(path: Path) -> set[str]:
    """Give the full names of the modules that a module imports, wherever it does."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    names = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    return names | {node.module or "." * node.level for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}


def lines_matching(paths: list[Path], pattern: str) -> list[str]:
    """Give `path:line: text` for each line of these files that the pattern is found in."""
    return [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()[:160]}"
        for path in paths
        for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), start=1)
        if re.search(pattern, line)
    ]
