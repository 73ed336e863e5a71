"""Evidence that came by itself: what was kept, and above all what fits no operation.

An unmatched line has no tenant and no type, so nobody's grants can cover it in part: the list is for people who may
browse everything. What matched is on the operation's own page as well, for everybody who may see that.
"""

from flask import Blueprint, render_template, request, url_for
from flask_babel import LazyString

from dashboard.domain.errors import NotAllowedError
from dashboard.domain.masking import hide, hiding_of
from dashboard.domain.permissions import Permission, Scope, scopes
from dashboard.domain.received import Match, Source
from dashboard.domain.text import visible
from dashboard.edge.filters import (
    Args,
    parse_choice,
    parse_choice_set,
    parse_position,
    parse_text,
)
from dashboard.queries import evidence as queries
from dashboard.queries.evidence import EvidenceFilter
from dashboard.queries.totals import Total
from dashboard.web import context
from dashboard.web.context import actor, policies, read, requires
from dashboard.web.formatting import counted
from dashboard.web.labels import label
from dashboard.web.language import gettext, lazy_gettext, ngettext
from dashboard.web.lists import Look, chips, field, paged

blueprint = Blueprint("evidence", __name__, url_prefix="/evidence")

EVERYTHING = Scope(None, None)
LONGEST_NAME = 64
SHOWN_FIELDS = 12
DOUBTFUL = (Match.UNMATCHED, Match.SEVERAL)
ONLY_DOUBTFUL = EvidenceFilter(matches=frozenset(DOUBTFUL))
NAMES: dict[str, LazyString] = {
    "match": lazy_gettext("Match"),
    "destination": lazy_gettext("Destination"),
    "source": lazy_gettext("Source"),
}
KINDS = {"match": "match", "source": "evidence_source"}


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
        doubtful = queries.count_evidence(session, ONLY_DOUBTFUL)
        now = context.now()
    return render_template(
        "evidence/index.html",
        **paged(page, position),
        total=ngettext("%(count)s item", "%(count)s items", total.value, count=counted(total)),
        looks_at=_looks(filters, doubtful),
        only_doubtful=filters == ONLY_DOUBTFUL,
        chips=chips(request.args, names=NAMES, word=_word),
        fields={
            name: field(name, options, names=NAMES, word=_word)
            for name, options in (("match", Match), ("destination", _destinations()), ("source", Source))
        },
        told=_told,
        now=now,
    )


def _filter(args: Args) -> EvidenceFilter:
    return EvidenceFilter(
        matches=parse_choice_set(args, "match", Match),
        destination=parse_text(args, "destination", maximum=LONGEST_NAME),
        source=parse_choice(args, "source", Source),
    )


def _looks(filters: EvidenceFilter, doubtful: Total) -> list[Look]:
    needs_person = url_for("evidence.index", match=list(DOUBTFUL))
    return [
        Look(url_for("evidence.index"), gettext("All"), None, filters == EvidenceFilter()),
        Look(needs_person, gettext("Needs a person"), doubtful, filters == ONLY_DOUBTFUL),
    ]


def _destinations() -> list[str]:
    """The destinations that send evidence by themselves."""
    return sorted(name for name, each in policies().destinations.items() if each.evidence or each.receipts)


def _word(name: str, value: str) -> str:
    return label(KINDS[name], value) if name in KINDS else visible(value)


def _told(content: dict[str, object]) -> list[tuple[str, str]]:
    """What the line says, without what policies hide of either side of an operation."""
    every = (policies().defaults, *policies().types.values())
    hidden = {path.partition(".")[2] for policy in every for path in policy.redact}
    masked = {path for policy in every for path in policy.mask}
    told = hide(content, hiding_of(redact=sorted(hidden - {""}), mask=sorted(masked)))
    return [(visible(name), visible(str(value))) for name, value in list(told.items())[:SHOWN_FIELDS]]
