"""The audit log, exported as lines that can be verified without the product."""

import json
from collections.abc import Iterator
from zoneinfo import ZoneInfo

from flask import Blueprint, Response, request

from dashboard.api.describing import Parameter, describes
from dashboard.api.parameters import MOMENT
from dashboard.api.reading import check_query
from dashboard.db import Database, reading
from dashboard.domain.permissions import Permission
from dashboard.domain.policy import Policies
from dashboard.edge.context import actor, database, policies, requires
from dashboard.edge.filters import parse_moment
from dashboard.services import audit_export
from dashboard.services.audit_export import LINES, Export

blueprint = Blueprint("audit", __name__, url_prefix="/api/v1/audit")
MEDIA_TYPE = "application/jsonl"
RANGE = (Parameter("since", MOMENT, "Entries from this time on."), Parameter("until", MOMENT, "Entries before it."))
UTC = ZoneInfo("UTC")


@blueprint.get("/export")
@requires(Permission.EXPORT)
@describes("Export the audit log", {200: MEDIA_TYPE}, query=RANGE)
def export() -> Response:
    """Every entry of a time as a line of JSON, and of those the token may not read their place in the chain.

    The export is itself an entry of the log; 30 an hour are answered.
    """
    check_query(request.args, RANGE)
    since, until = (parse_moment(request.args, name, zone=UTC) for name in ("since", "until"))
    begun = audit_export.begin(database(), reader=actor(), form=LINES, since=since, until=until)
    return Response(_lines(database(), begun, policies()), content_type=MEDIA_TYPE)


def _lines(source: Database, begun: Export, rules: Policies) -> Iterator[bytes]:
    with reading(source) as session:
        for line in audit_export.lines(session, begun, policies=rules):
            yield json.dumps(line, ensure_ascii=False, default=str).encode() + b"\n"
