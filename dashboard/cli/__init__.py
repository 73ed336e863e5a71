"""The command line: `dashboard COMMAND`. One module a group of commands; this one joins them.

Errors that are expected end in one line on standard error and an exit status; `errors.py` is the only place
that decides which.
"""

import sys
from collections.abc import Sequence
from importlib import import_module
from typing import NoReturn

import click

from dashboard.cli.errors import EXPECTED, INTERRUPTED, tell
from dashboard.cli.signals import stopping_on_sigterm
from dashboard.logs import configure

# In which module of this package each command is, in the order of the help.
COMMANDS = {
    "demo": "demo:demo",
    "serve": "serve:serve",
    "db": "db:db",
    "import": "importing:import_",
    "user": "users:user",
    "token": "tokens:token",
    "action": "actions:action",
    "plan": "plans:plan",
    "audit": "audit:audit",
    "policy": "policy:policy",
    "worker": "worker:worker",
    "reconcile": "reconcile:reconcile",
    "relay": "relay:relay",
    "evidence": "evidence:evidence",
    "retention": "retention:retention",
    "rollup": "rollup:rollup",
    "alerts": "alerts:alerts",
    "bench": "bench:bench",
}

# \b keeps the lines of a paragraph as they are.
EXIT_STATUS = """\b
Exit status:
  0    done
  1    done, with findings: lines were rejected, the audit log is broken, a policy is wrong, or figures differ
  2    not done: a wrong argument, setting or file
  3    not done: the database cannot be used, or lacks our tables
  130  interrupted by Ctrl-C
  143  ended by SIGTERM
"""


class LazyGroup(click.Group):
    """Imports a command when it is asked for, so that each start costs what that command needs.

    Source: the section on lazily loading subcommands of click's documentation.
    """

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click gives it
        """The names of all commands."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - click gives it
        """The command of this name, or None."""
        if cmd_name not in COMMANDS:
            return None
        module, _, name = COMMANDS[cmd_name].partition(":")
        command: click.Command = getattr(import_module(f"{__name__}.{module}"), name)
        return command


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog=EXIT_STATUS,
)
@click.version_option(package_name="operations-dashboard", message="%(version)s")
def dashboard() -> None:
    """Find, prove and repair the operations that retries and idempotency left behind.

    Settings come from the environment: DASHBOARD_DATABASE_URL, DASHBOARD_SECRET_KEY, DASHBOARD_POLICIES,
    DASHBOARD_ENVIRONMENT, DASHBOARD_COOKIE_SECURE and others that docs/operate.md lists.
    """
    configure()


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run a command and exit with its status; an expected error is told in one line, never as a traceback."""
    try:
        with stopping_on_sigterm():
            status = dashboard.main(args=arguments, prog_name="dashboard", standalone_mode=False)
    except click.exceptions.Abort:
        sys.exit(INTERRUPTED)
    except EXPECTED as error:
        sys.exit(tell(error))
    sys.exit(status or 0)
