"""`dashboard audit`: prove that nobody changed the audit log, anchor it, and hand it to who must check it alone."""

from pathlib import Path

import click

from dashboard.adapters import anchor_keys
from dashboard.cli.audit_export import export
from dashboard.cli.errors import FINDINGS
from dashboard.cli.progress import shown_progress
from dashboard.cli.setup import FILE, command_line_actor, ready_database
from dashboard.config import Settings
from dashboard.db import reading
from dashboard.domain.anchors import Anchor, read_anchors
from dashboard.queries.audit_checks import Way
from dashboard.services import audit_results
from dashboard.services.anchoring import take_anchor
from dashboard.services.audit import Verification
from dashboard.services.audit_checks import verify_all

VERIFIER = Path(__file__).with_name("verify_audit.py")
PROBLEMS = {
    "gap": "Entry {seq} is missing.",
    "changed": "Entry {seq} was changed after it was written.",
    "unlinked": "Entry {seq} does not follow from the entry before it.",
    "tail_cut": "The log ends before entry {seq}: the end was cut off.",
    "head_changed": "The head of the log does not agree with its last entry, {seq}.",
    "run_changed": "The findings of reconciliation run {detail} are not those that entry {seq} recorded.",
    "anchor_forged": "The signature of the anchor at {detail} does not fit.",
    "anchor_untrusted": "The anchor at {detail} is signed by a key that is not trusted.",
    "anchor_foreign": "The anchor at {detail} is of another database, or the first entry was rewritten.",
    "anchor_differs": "Entry {seq} is not what the anchor at {detail} says: the log was rewritten at it or before.",
    "anchor_cut": "The log ends before entry {seq}: the end that the anchor at {detail} names was cut off.",
}
NOT_KEPT = (
    "This result was not stored: the database did not take it, as from an account that may only read. "
    "No screen shows it."
)


@click.group()
def audit() -> None:
    """Look after the audit log."""


audit.add_command(export)


@audit.command()
@click.option("--anchor", "files", type=FILE, multiple=True, help="Compare with the anchors in this file; may repeat.")
@click.option("--public-key", "keys", multiple=True, help="Trust only anchors signed by this key; may repeat.")
@click.pass_context
def verify(context: click.Context, files: tuple[Path, ...], keys: tuple[str, ...]) -> None:
    """Walk the whole audit log and name the first thing that is wrong; exit status 1 if there is one.

    Beside the chain it checks the digests of reconciliation runs, the anchors that the log keeps, and those given. The
    result is kept for the screen, for alerts and for /metrics.
    """
    settings = Settings()
    anchors = [anchor for file in files for anchor in read_anchors(file.read_text(encoding="utf-8"))]
    trusted = {key.lower() for key in keys} or settings.trusted_audit_keys()
    with ready_database(settings) as database:
        with reading(database) as session, shown_progress("entries verified") as show:
            found = verify_all(session, anchors=anchors, trusted=trusted, progress=lambda checked: show(checked, 0))
        way = Way.GIVEN if files or keys else Way.COMMAND
        kept = audit_results.keep_if_possible(database, found, way=way, actor=command_line_actor())
    click.echo(_told(found))
    if not kept:
        click.echo(NOT_KEPT, err=True)
    if not found.intact:
        context.exit(FINDINGS)
    for line in _beside(found, trusted=bool(trusted)):
        click.echo(line)


@audit.command()
@click.option("--key", "file", type=FILE, help="The private key; without it, DASHBOARD_AUDIT_KEY holds it as PEM.")
def anchor(file: Path | None) -> None:
    """Verify the log, sign its head and print the anchor, to be kept where no database administrator can reach it."""
    settings = Settings()
    if file is not None:
        key = anchor_keys.read(file)
    elif settings.audit_key is not None:
        key = anchor_keys.parse(settings.audit_key.get_secret_value().encode(), named="DASHBOARD_AUDIT_KEY")
    else:
        raise anchor_keys.AnchorKeyError("anchor_key_missing")
    with ready_database(settings) as database, shown_progress("entries verified") as show:
        taken: Anchor = take_anchor(
            database, actor=command_line_actor(), key=key, progress=lambda checked: show(checked, 0)
        )
    click.echo(taken.text(), nl=False)


@audit.command()
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
def key(file: Path) -> None:
    """Make a key that signs anchors, write it to FILE for you alone, and print its public key."""
    click.echo(anchor_keys.create(file))


@audit.command()
def verifier() -> None:
    """Print the script that checks an exported log on a machine without this product."""
    click.echo(VERIFIER.read_text(encoding="utf-8"), nl=False)


def _told(found: Verification) -> str:
    if found.problem:
        words = PROBLEMS[found.problem].format(seq=found.broken_seq, detail=found.detail)
        return f"Broken: {words} The {found.checked:,} before it agree."
    return f"Intact: {found.checked:,} entries, last hash {found.head_hash or 'none'}."


def _beside(found: Verification, *, trusted: bool) -> list[str]:
    lines = [f"Reconciliation runs whose findings agree: {found.runs:,}."] if found.runs else []
    if found.anchors:
        lines.append(f"Anchors that agree: {found.anchors:,}.")
        lines += [f"Signed by {each}{'' if trusted else ': compare it with the key you know'}." for each in found.keys]
    return lines
