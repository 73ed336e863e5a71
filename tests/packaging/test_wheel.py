import shutil
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

from tests.architecture.tree import ROOT


def test_a_wheel_carries_templates_assets_migrations_and_translations(tmp_path: Path) -> None:
    built = build_wheel(ROOT, into=tmp_path)
    assert built.returncode == 0, built.stderr
    (wheel,) = tmp_path.glob("*.whl")
    assert expected_members() - set(ZipFile(wheel).namelist()) == set()


def test_a_wheel_without_built_assets_is_refused_in_one_clear_line(tmp_path: Path) -> None:
    for name in ("pyproject.toml", "hatch_build.py"):
        shutil.copy(ROOT / name, tmp_path)
    shutil.copytree(ROOT / "dashboard", tmp_path / "dashboard")
    built = build_wheel(tmp_path, into=tmp_path)
    assert built.returncode != 0
    assert "run `make assets`" in built.stderr


def build_wheel(source: Path, *, into: Path) -> subprocess.CompletedProcess[str]:
    # hatchling is in the lock, so that nothing is fetched.
    options = ["--no-index", "--no-build-isolation", "--no-deps", "--disable-pip-version-check"]
    command = [sys.executable, "-m", "pip", "wheel", *options, "--wheel-dir", str(into), str(source)]
    return subprocess.run(command, check=False, capture_output=True, text=True)


def expected_members() -> set[str]:
    """Give the names inside the wheel of every module and resource of the checkout."""
    resources = {
        f"dashboard/{path.relative_to(ROOT)}"
        for folder in ("migrations", "static", "templates", "translations")
        for path in (ROOT / folder).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    return resources | {str(path.relative_to(ROOT)) for path in ROOT.glob("dashboard/**/*.py")}
