"""The audit log as a file: lines that the stand-alone script verifies, or a table for a spreadsheet.

With the report of a month (`reports.table`) these are the only addresses where a GET appends to the audit log: a copy
that left is worth an entry.
"""

import csv
import io
import json
from collections.abc import Iterator

from flask import Blueprint, Response, request

from dashboard.db import reading
from dashboard.domain.permissions import Permission
from dashboard.edge.filters import parse_moment
from dashboard.services import audit_export
from dashboard.services.audit_export import LINES, TABLE, Export
from dashboard.web.context import actor, database, policies, requires
from dashboard.web.formatting import person_zone

blueprint = Blueprint("audit_exports", __name__)

KINDS = {LINES: "application/x-ndjson", TABLE: "text/csv"}


@blueprint.get("/audit.jsonl")
@requires(Permission.EXPORT)
def lines() -> Response:
    """Give the entries of a time as lines that can be verified; of those not for the person, only their place."""
    return _answer(LINES)


@blueprint.get("/audit.csv")
@requires(Permission.EXPORT)
def table() -> Response:
    """Give the entries of a time that the person may read as a table."""
    return _answer(TABLE)


def _answer(form: str) -> Response:
    zone = person_zone()
    since, until = (parse_moment(request.args, name, zone=zone) for name in ("since", "until"))
    begun = audit_export.begin(database(), reader=actor(), form=form, since=since, until=until)
    answer = Response(_lines(begun) if form == LINES else _table(begun), mimetype=KINDS[form])
    answer.headers["Content-Disposition"] = f"attachment; filename=audit-{begun.at:%Y-%m-%d}.{form}"
    return answer


def _lines(begun: Export) -> Iterator[str]:
    # The answer is written after the request is over, so that what it needs is taken before.
    where, rules = database(), policies()

    def written() -> Iterator[str]:
        with reading(where) as session:
            for line in audit_export.lines(session, begun, policies=rules):
                yield json.dumps(line, ensure_ascii=False, separators=(",", ":")) + "\n"

    return written()


def _table(begun: Export) -> Iterator[str]:
    where, rules = database(), policies()

    def written() -> Iterator[str]:
        with reading(where) as session:
            for row in audit_export.rows(session, begun, policies=rules):
                cell = io.StringIO()
                csv.writer(cell).writerow(row)
                yield cell.getvalue()

    return written()
