"""`dashboard import`: history and migrations from a file of JSON lines."""

import os
from pathlib import Path
from typing import BinaryIO

import click

from dashboard.cli.errors import FINDINGS
from dashboard.cli.progress import shown_progress
from dashboard.cli.rejects import Rejects
from dashboard.cli.setup import FILE, command_line_actor, ready_database
from dashboard.config import Settings
from dashboard.domain.text import visible
from dashboard.services.import_lines import KINDS
from dashboard.services.importing import ImportSummary, import_lines
from dashboard.services.policies import load_policies

HEAD_BYTES = 4096
PACKED = {
    b"\x1f\x8b": "gzip",
    b"BZh": "bzip2",
    b"\xfd7zXZ": "xz",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"PK\x03\x04": "zip",
}
UTF_16 = (b"\xff\xfe", b"\xfe\xff")


@click.command(name="import")
@click.argument("file", type=FILE)
@click.option("--shift-to-now", is_flag=True, help="Move all times so that the newest thing happened now.")
@click.pass_context
def import_(context: click.Context, file: Path, *, shift_to_now: bool) -> None:
    """Import operations, events and idempotency records from FILE, one JSON object a line.

    Importing twice changes nothing. A bad line is reported with its number, field and reason, and does not
    stop the rest; all of them are written to FILE.rejects.jsonl. Exit status 1 if any line was rejected.
    """
    settings = Settings()
    policies = load_policies(settings.policies)
    with ready_database(settings) as database, file.open("rb") as source:
        refuse_unreadable(source, file)
        size = os.fstat(source.fileno()).st_size
        rejects = Rejects(file)
        with rejects, shown_progress("lines", total_bytes=size) as show:
            summary = import_lines(
                database,
                source=source,
                name=visible(file.name),
                actor=command_line_actor(),
                policies=policies,
                reject=rejects.write,
                shift_to_now=shift_to_now,
                progress=show,
            )
    _print_summary(summary)
    rejects.print_end()
    if rejects.count:
        context.exit(FINDINGS)


def refuse_unreadable(source: BinaryIO, file: Path) -> None:
    """Refuse what is no file of lines in UTF-8 or another plain text, before anything is done with it."""
    if not source.seekable():
        raise click.UsageError(f"{file} is a pipe: save what it gives to a file first.")
    head = source.read(HEAD_BYTES)
    source.seek(0)
    if not head:
        raise click.UsageError(f"{file} is empty: there is nothing to import.")
    for mark, packer in PACKED.items():
        if head.startswith(mark):
            raise click.UsageError(f"{file} is packed with {packer}: unpack it first.")
    if head.startswith(UTF_16):
        raise click.UsageError(f"{file} is UTF-16: save it as UTF-8.")
    if b"\x00" in head:
        raise click.UsageError(f"{file} is not text: it must have one record a line.")


def _print_summary(summary: ImportSummary) -> None:
    click.echo(f"{'':<12}{'new':>10}{'there already':>16}{'rejected':>11}")
    for kind in (*KINDS, "other"):
        counts = (summary.new[kind], summary.existing[kind], summary.rejected[kind])
        if any(counts):
            click.echo(f"{kind:<12}{counts[0]:>10,}{counts[1]:>16,}{counts[2]:>11,}")
    click.echo(
        f"{summary.read:,} lines read: {summary.new.total():,} new, {summary.existing.total():,} there already, "
        f"{summary.rejected.total():,} rejected."
    )
