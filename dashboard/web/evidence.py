"""Evidence that came by itself: what was kept, and above all what fits no operation.

An unmatched line has no tenant and no type, so nobody's grants can cover it in part: the list is for people who may
browse everything. What matched is on the operation's own page as well, for everybody who may see that.
"""

from flask import Blueprint, render_template, request, url_for
from flask_babel import LazyString, lazy_gettext, ngettext

from dashboard.db import clock
from dashboard.domain.errors import NotAllowedError
from dashboard.domain.permissions import Permission, Scope, scopes
from dashboard.domain.received import Match, Source
from dashboard.domain.redaction import redact_fields
from dashboard.domain.text import visible
from dashboard.queries import evidence as queries
from dashboard.queries.evidence import EvidenceFilter
from dashboard.web.context import actor, policies, read, requires
from dashboard.web.filters import (
    Args,
    page_urls,
    parse_choice,
    parse_choice_set,
    parse_position,
    parse_text,
    url_with,
    url_without,
)
from dashboard.web.formatting import capped
from dashboard.web.labels import label

blueprint = Blueprint("evidence", __name__, url_prefix="/evidence")

EVERYTHING = Scope(None, None)
LONGEST_NAME = 64
SHOWN_FIELDS = 12
DOUBTFUL = (Match.UNMATCHED, Match.SEVERAL)
NAMES: dict[str, LazyString] = {
    "match": lazy_gettext("Match"),
    "destination": lazy_gettext("Destination"),
    "source": lazy_gettext("Source"),
}


@blueprint.get("")
@requires(Permission.BROWSE)
def index() -> str:
    """List all evidence, the newest first; for people who may browse every tenant and type."""
    if EVERYTHING not in scopes(actor().grants, Permission.BROWSE):
        raise NotAllowedError("evidence_for_all", permission=Permission.BROWSE.value)
    filters, position = _filter(request.args), parse_position(request.args)
    with read() as session:
        page = queries.list_evidence(session, filters, position=position)
        total = queries.count_evidence(session, filters)
        doubtful = queries.count_evidence(session, EvidenceFilter(matches=frozenset(DOUBTFUL)))
        now = clock(session)
    return render_template(
        "evidence/index.html",
        page=page,
        total=ngettext("%(count)s item", "%(count)s items", total.value, count=capped(total.value + total.capped)),
        doubtful=doubtful.value + doubtful.capped,
        doubtful_url=url_for("evidence.index", match=list(DOUBTFUL)),
        only_doubtful=filters == EvidenceFilter(matches=frozenset(DOUBTFUL)),
        unfiltered=filters == EvidenceFilter(),
        urls=page_urls(page),
        first_url=url_with(),
        limit=position.limit,
        chips=_chips(request.args),
        matches=[(each.value, label("match", each)) for each in Match],
        sources=[(each.value, label("evidence_source", each)) for each in Source],
        chosen=filters,
        destinations=sorted(name for name, each in policies().destinations.items() if each.evidence or each.receipts),
        fields=_fields,
        now=now,
    )


def _filter(args: Args) -> EvidenceFilter:
    return EvidenceFilter(
        matches=parse_choice_set(args, "match", Match),
        destination=parse_text(args, "destination", maximum=LONGEST_NAME),
        source=parse_choice(args, "source", Source),
    )


def _fields(content: dict[str, object]) -> list[tuple[str, str]]:
    """What the line says, without what policies hide of either side of an operation."""
    hidden = {path.partition(".")[2] for policy in policies().types.values() for path in policy.redact}
    hidden |= {path.partition(".")[2] for path in policies().defaults.redact}
    told = redact_fields(content, paths=sorted(hidden - {""}))
    return [(visible(name), visible(str(value))) for name, value in list(told.items())[:SHOWN_FIELDS]]


def _chips(args: Args) -> list[tuple[str, str]]:
    """Each filter in force in words, with the address of the list without it."""
    found = [
        (f"{NAMES['match']}: {label('match', each)}", url_without("match", each)) for each in _given(args, "match")
    ]
    if destination := args.get("destination"):
        found.append((f"{NAMES['destination']}: {visible(destination)}", url_without("destination")))
    if source := args.get("source"):
        found.append((f"{NAMES['source']}: {label('evidence_source', source)}", url_without("source")))
    return found


def _given(args: Args, name: str) -> list[str]:
    return list(dict.fromkeys(value for value in args.getlist(name) if value))
