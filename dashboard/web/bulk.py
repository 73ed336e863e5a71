"""Plans: the list of them, and making one of ticked operations or of all that match a filter."""

from collections.abc import Mapping
from uuid import uuid4

from flask import Blueprint, flash, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue
from flask_babel import LazyString

from dashboard.domain.actions import ActionName
from dashboard.domain.ages import windows_of
from dashboard.domain.bulk import PlanState
from dashboard.domain.errors import InvalidInputError
from dashboard.domain.permissions import Permission, scopes
from dashboard.domain.states import known
from dashboard.edge.filters import parse_choice_set, parse_position
from dashboard.edge.operation_filters import parse_filter
from dashboard.queries import bulk as queries
from dashboard.services import bulk_planning
from dashboard.services.bulk_planning import Planned, PlanRequest, Selection
from dashboard.web.bulk_choice import LISTS, actions_to_ask_for, kept_filters
from dashboard.web.context import actor, database, policies, read, requires
from dashboard.web.formatting import person_zone
from dashboard.web.labels import label
from dashboard.web.language import gettext, lazy_gettext, ngettext
from dashboard.web.lists import chips, field, paged
from dashboard.web.wording import by_field

blueprint = Blueprint("bulk", __name__, url_prefix="/bulk")

NAMES: Mapping[str, LazyString] = {"state": lazy_gettext("State")}


@blueprint.get("")
@requires(Permission.BROWSE)
def index() -> str:
    """List the plans within the person's grants, newest first."""
    asking, position = actor(), parse_position(request.args)
    states = parse_choice_set(request.args, "state", PlanState)
    with read() as session:
        page = queries.list_plans(
            session,
            scopes=scopes(asking.grants, Permission.BROWSE),
            states=states,
            person=asking.id,
            position=position,
        )
    return render_template(
        "bulk/index.html",
        **paged(page, position),
        chips=chips(request.args, names=NAMES, word=_word),
        fields=[field("state", PlanState, names=NAMES, word=_word)],
    )


@blueprint.post("")
@requires(Permission.PROPOSE)
def make() -> ResponseReturnValue:
    """Make a draft, once, and show it; what cannot be a plan is said, with the choice kept."""
    key, action = request.form.get("idempotency_key"), known(ActionName, request.form.get("action"))
    if key is None or action is None:
        missing = "" if key is None else gettext("Choose what to do with them.")
        return _choice(problem=missing, again=True)
    try:
        selection = _selection()
        planned = bulk_planning.make(database(), PlanRequest(actor(), action, selection, policies(), key))
    except InvalidInputError as error:
        return _choice(problem=" ".join(by_field(error).values()), again=False)
    _tell(planned)
    return redirect(url_for("bulk_page.show", number=planned.plan_id), 303)


def _selection() -> Selection:
    """The ticked ids; for all that match, the filter that the list had."""
    form = request.form
    if form.get("which") != "all":
        return Selection(ids=tuple(dict.fromkeys(form.getlist("operation_id"))))
    exceptions = form.get("list") != "operations"
    return Selection(
        filters=parse_filter(
            form, me=actor().id, zone=person_zone(), windows=windows_of(policies()), exceptions=exceptions
        )
    )


def _choice(*, problem: str, again: bool) -> ResponseReturnValue:
    """Show what was chosen; `again` where it can be sent as it is."""
    form = request.form
    name = "operations" if form.get("list") == "operations" else "exceptions"
    page = render_template(
        "bulk/choose.html",
        problem=problem,
        again=again,
        which="all" if form.get("which") == "all" else "ticked",
        ticked=list(dict.fromkeys(form.getlist("operation_id"))),
        filters=kept_filters(form),
        list=name,
        list_url=url_for(LISTS[name]),
        actions=actions_to_ask_for(actor()),
        chosen=form.get("action", ""),
        form_key=uuid4().hex,
    )
    return page, 422


def _tell(planned: Planned) -> None:
    if planned.repeated:
        flash(gettext("This plan had been made before."), "info")
    if planned.unknown:
        text = ngettext(
            "%(num)s ticked operation was not found.", "%(num)s ticked operations were not found.", planned.unknown
        )
        flash(text, "warn")


def _word(_name: str, value: str) -> str:
    return label("plan_state", value)
