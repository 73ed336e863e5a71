import re
import tomllib
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.architecture.tree import ROOT

PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
RUNTIME: list[str] = PROJECT["project"]["dependencies"]
GROUPS: dict[str, list[str]] = PROJECT["dependency-groups"]


@pytest.mark.parametrize(
    ("lock", "wanted"),
    [
        ("runtime.txt", RUNTIME),
        ("dev.txt", RUNTIME + GROUPS["dev"]),
        ("node.txt", GROUPS["node"]),
    ],
)
def test_the_lock_pins_every_requirement_within_its_range(lock: str, wanted: list[str]) -> None:
    pins = read_pins(lock)
    requirements = [Requirement(line) for line in wanted]
    assert [
        str(each) for each in requirements if pins.get(canonicalize_name(each.name), "") not in each.specifier
    ] == []


def test_tests_run_on_the_releases_that_an_installation_gets() -> None:
    assert read_pins("runtime.txt").items() <= read_pins("dev.txt").items()


def read_pins(lock: str) -> dict[str, str]:
    text = (ROOT / "requirements" / lock).read_text(encoding="utf-8")
    return dict(re.findall(r"^([a-z0-9-]+)==([^\s;]+)", text, re.MULTILINE))
