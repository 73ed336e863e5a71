"""`dashboard audit`: prove that nobody changed the audit log."""

import click

from dashboard.cli.errors import FINDINGS
from dashboard.cli.progress import shown_progress
from dashboard.cli.setup import ready_database
from dashboard.config import Settings
from dashboard.db import reading
from dashboard.services.audit import Verification
from dashboard.services.audit import verify as verify_log

PROBLEMS = {
    "gap": "Entry {seq} is missing.",
    "changed": "Entry {seq} was changed after it was written.",
    "unlinked": "Entry {seq} does not follow from the entry before it.",
    "tail_cut": "The log ends before entry {seq}: the end was cut off.",
    "head_changed": "The head of the log does not agree with its last entry, {seq}.",
}


@click.group()
def audit() -> None:
    """Look after the audit log."""


@audit.command()
@click.pass_context
def verify(context: click.Context) -> None:
    """Walk the whole audit log and name the first broken entry; exit status 1 if there is one."""
    with (
        ready_database(Settings()) as database,
        reading(database) as session,
        shown_progress("entries verified") as show,
    ):
        found = verify_log(session, progress=lambda checked: show(checked, 0))
    click.echo(_told(found))
    if not found.intact:
        context.exit(FINDINGS)


def _told(found: Verification) -> str:
    if found.problem:
        return f"Broken: {PROBLEMS[found.problem].format(seq=found.broken_seq)} The {found.checked:,} before it agree."
    return f"Intact: {found.checked:,} entries, last hash {found.head_hash or 'none'}."
