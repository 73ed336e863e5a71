"""The command line: `dashboard COMMAND`. One module a group of commands; this one joins them.

Errors that are expected end in one line on standard error and an exit status; `errors.py` is the only place
that decides which.
"""

import sys
from collections.abc import Sequence
from typing import NoReturn

import click

from dashboard.cli.audit import audit
from dashboard.cli.bench import bench
from dashboard.cli.db import db
from dashboard.cli.demo import demo
from dashboard.cli.errors import EXPECTED, INTERRUPTED, tell
from dashboard.cli.evidence import evidence
from dashboard.cli.importing import import_
from dashboard.cli.policy import policy
from dashboard.cli.reconcile import reconcile
from dashboard.cli.relay import relay
from dashboard.cli.retention import retention
from dashboard.cli.serve import serve
from dashboard.cli.signals import stopping_on_sigterm
from dashboard.cli.tokens import token
from dashboard.cli.users import user
from dashboard.cli.worker import worker

# \b keeps the lines of a paragraph as they are.
EXIT_STATUS = """\b
Exit status:
  0    done
  1    done, with findings: lines were rejected, the audit log is broken, or a policy is wrong
  2    not done: a wrong argument, setting or file
  3    not done: the database cannot be used, or lacks our tables
  130  interrupted by Ctrl-C
  143  ended by SIGTERM
"""


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100}, epilog=EXIT_STATUS)
@click.version_option(package_name="operations-dashboard", message="%(version)s")
def dashboard() -> None:
    """Find, prove and repair the operations that retries and idempotency left behind.

    Settings come from the environment: DASHBOARD_DATABASE_URL, DASHBOARD_SECRET_KEY, DASHBOARD_POLICIES,
    DASHBOARD_ENVIRONMENT, DASHBOARD_COOKIE_SECURE and others that docs/operate.md lists.
    """


for command in (
    demo,
    serve,
    db,
    import_,
    user,
    token,
    audit,
    policy,
    worker,
    reconcile,
    relay,
    evidence,
    retention,
    bench,
):
    dashboard.add_command(command)


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
