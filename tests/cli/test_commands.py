import subprocess
import sys

import click
import pytest

from dashboard.cli import COMMANDS, dashboard

HEAVY = ("flask", "httpx", "kombu")


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_is_found_under_its_own_name(name: str) -> None:
    command = dashboard.get_command(click.Context(dashboard), name)
    assert command is not None
    assert command.name == name


def test_a_command_imports_only_what_it_needs() -> None:
    code = f"import sys; from dashboard.cli import main; print([name for name in {HEAVY!r} if name in sys.modules])"
    assert subprocess.check_output([sys.executable, "-c", code], text=True) == "[]\n"
