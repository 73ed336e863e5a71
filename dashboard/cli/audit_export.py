"""`dashboard audit export`: the audit log as lines that can be verified without the product, or as a table."""

import csv
import json
import sys
from datetime import UTC, datetime

import click

from dashboard.cli.setup import command_line_actor, ready_database
from dashboard.config import Settings
from dashboard.db import reading
from dashboard.services import audit_export
from dashboard.services.policies import load_policies


class Moment(click.ParamType[datetime]):
    """A day or a time; without a zone it is in UTC."""

    name = "time"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> datetime:
        """Read it, or say how to write it."""
        try:
            found = datetime.fromisoformat(value)
        except ValueError:
            self.fail(f"{value!r} is no time: write 2026-11-30 or 2026-11-30T10:00:00Z.", param, ctx)
        return found.astimezone(UTC) if found.tzinfo else found.replace(tzinfo=UTC)


@click.command()
@click.option("--format", "form", type=click.Choice([audit_export.LINES, audit_export.TABLE]), default="jsonl")
@click.option("--from", "since", type=Moment(), help="From this time.")
@click.option("--to", "until", type=Moment(), help="Before this time.")
def export(form: str, since: datetime | None, until: datetime | None) -> None:
    """Print the audit log, or the entries of a time; the export is an entry itself.

    jsonl can be verified by the script that `dashboard audit verifier` prints; csv is for reading.
    """
    settings = Settings()
    policies = load_policies(settings.policies)
    with ready_database(settings) as database:
        begun = audit_export.begin(database, reader=command_line_actor(), form=form, since=since, until=until)
        with reading(database) as session:
            if form == audit_export.TABLE:
                csv.writer(sys.stdout).writerows(audit_export.rows(session, begun, policies=policies))
                return
            for line in audit_export.lines(session, begun, policies=policies):
                click.echo(json.dumps(line, ensure_ascii=False, separators=(",", ":")))
