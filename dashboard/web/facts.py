"""The list behind a number of events: retries, failed probes, contradictions, reopenings, key conflicts."""

from collections.abc import Mapping

from flask import Blueprint, render_template, request
from flask_babel import LazyString

from dashboard.domain.facts import LISTED, Fact
from dashboard.domain.permissions import Permission, scopes
from dashboard.domain.text import visible
from dashboard.edge.filters import parse_choice, parse_moment, parse_position, parse_text
from dashboard.edge.operation_filters import LONGEST_NAME
from dashboard.queries import facts
from dashboard.web.context import actor, read, requires
from dashboard.web.formatting import counted, person_zone
from dashboard.web.labels import label
from dashboard.web.language import gettext, lazy_gettext
from dashboard.web.lists import chips, field, moment_word, paged

blueprint = Blueprint("facts", __name__)

KINDS = tuple(fact.value for fact in Fact if fact in LISTED)
NAMES: Mapping[str, LazyString] = {
    "fact": lazy_gettext("Event"),
    "label": lazy_gettext("Why"),
    "type": lazy_gettext("Type"),
    "tenant": lazy_gettext("Tenant"),
    "from": lazy_gettext("From"),
    "to": lazy_gettext("Before"),
}


@blueprint.get("/facts")
@requires(Permission.BROWSE)
def index() -> str:
    """List the events of one kind within the grants, newest first."""
    args, zone = request.args, person_zone()
    position, fact = parse_position(args), Fact(parse_choice(args, "fact", KINDS) or Fact.RETRY)
    why, name, tenant = (parse_text(args, each, maximum=LONGEST_NAME) for each in ("label", "type", "tenant"))
    since, until = (parse_moment(args, each, zone=zone) for each in ("from", "to"))
    with read() as session:
        found = facts.rows(
            session,
            fact=fact,
            scopes=scopes(actor().grants, Permission.BROWSE),
            label=why,
            since=since,
            until=until,
            type=name,
            tenant=tenant,
            after=position.after,
            before=position.before,
            limit=position.limit,
        )
    return render_template(
        "facts/index.html",
        **paged(found.page, position),
        total=gettext("%(count)s events", count=counted(found.total)),
        fact=fact,
        chips=chips(args, names=NAMES, word=_word),
        kinds=field("fact", KINDS, names=NAMES, word=_word),
    )


def _word(name: str, value: str) -> str:
    if name in {"from", "to"}:
        return moment_word(name)
    return label("fact", value) if name == "fact" else label("fact_label", value) if name == "label" else visible(value)
