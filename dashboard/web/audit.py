"""The audit log: who did what, on which grounds, and the proof that nobody changed it since."""

from collections.abc import Iterable
from typing import Any

from flask import Blueprint, flash, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue
from flask_babel import LazyString, lazy_gettext, ngettext

from dashboard.domain.permissions import Permission, allows, holds
from dashboard.domain.text import is_operation_id, visible
from dashboard.models import AuditEntry
from dashboard.queries import audit as queries
from dashboard.queries.audit import OUTCOMES, VERIFY, AuditFilter
from dashboard.services.audit import verify_on_record
from dashboard.web.audit_entries import changes_of, pretty
from dashboard.web.context import actor, database, read, requires
from dashboard.web.filters import (
    Args,
    page_urls,
    parse_choice_set,
    parse_moment,
    parse_position,
    parse_text,
    url_with,
    url_without,
)
from dashboard.web.formatting import capped, moment_title, person_zone
from dashboard.web.labels import LABELS, label
from dashboard.web.verifications import Finding, finding_of, found_in

blueprint = Blueprint("audit", __name__, url_prefix="/audit")

LARGEST_NUMBER = 2**63 - 1
LONGEST = 254
ACTIONS = tuple(LABELS["action"])
NAMES: dict[str, LazyString] = {
    "actor": lazy_gettext("Who"),
    "action": lazy_gettext("Action"),
    "outcome": lazy_gettext("Outcome"),
    "subject": lazy_gettext("About"),
    "since": lazy_gettext("From"),
    "until": lazy_gettext("Before"),
}


@blueprint.get("")
@requires(Permission.AUDIT_OWN)
def index() -> str:
    """List the entries the person may read, newest first."""
    asking = actor()
    filters, position = _filter(request.args), parse_position(request.args)
    may_verify = holds(asking.grants, Permission.AUDIT_SCOPE)
    with read() as session:
        page = queries.list_entries(session, filters, reader=asking, position=position)
        total = queries.count_entries(session, filters, reader=asking)
        last = queries.last_verification(session, reader=asking) if may_verify else None
    return render_template(
        "audit/index.html",
        page=page,
        total=ngettext("%(count)s entry", "%(count)s entries", total.value, count=capped(total.value + total.capped)),
        urls=page_urls(page),
        first_url=url_with(),
        limit=position.limit,
        chips=_chips(request.args),
        fields=[_field("action", ACTIONS), _field("outcome", OUTCOMES)],
        only_own=not may_verify,
        may_verify=may_verify,
        last=last,
        finding=_finding(last) if last else None,
    )


@blueprint.get(f"/<int(max={LARGEST_NUMBER}):seq>")
@requires(Permission.AUDIT_OWN)
def show(seq: int) -> str:
    """Show one entry: what changed, why, on which evidence, and how it is chained."""
    asking = actor()
    with read() as session:
        entry = queries.get_entry(session, seq, reader=asking)
        around = queries.neighbours(session, seq, reader=asking)
    return render_template(
        "audit/show.html",
        entry=entry,
        around=around,
        changes=changes_of(entry.before, entry.after),
        evidence=pretty(entry.evidence),
        finding=_finding(entry),
        operation_url=_operation_url(entry),
    )


@blueprint.post("/verify")
@requires(Permission.AUDIT_SCOPE)
def verify() -> ResponseReturnValue:
    """Walk the whole log, write down what was found, and lead to it."""
    found, seq = verify_on_record(database(), actor=actor())
    if seq is not None:
        return redirect(url_for("audit.show", seq=seq), 303)
    told = finding_of(found)
    flash(f"{told.title} {told.text}", told.tone)
    return redirect(url_for("audit.index"), 303)


def _finding(entry: AuditEntry) -> Finding | None:
    found = found_in(entry.evidence) if entry.action == VERIFY else None
    return finding_of(found) if found else None


def _operation_url(entry: AuditEntry) -> str | None:
    """The page of the operation an entry is about, where the person may open it."""
    if entry.tenant is None or entry.type is None or not is_operation_id(entry.subject):
        return None
    if not allows(actor().grants, Permission.BROWSE, tenant=entry.tenant, type=entry.type):
        return None
    return url_for("operations.show", operation_id=entry.subject)


def _filter(args: Args) -> AuditFilter:
    zone = person_zone()
    return AuditFilter(
        actor_id=parse_text(args, "actor", maximum=LONGEST),
        actions=parse_choice_set(args, "action", ACTIONS),
        outcomes=parse_choice_set(args, "outcome", OUTCOMES),
        subject=parse_text(args, "subject", maximum=LONGEST),
        since=parse_moment(args, "since", zone=zone),
        until=parse_moment(args, "until", zone=zone),
    )


def _field(name: str, options: Iterable[str]) -> dict[str, Any]:
    return {
        "name": name,
        "label": NAMES[name],
        "options": [(option, label(name, option)) for option in options],
        "chosen": [value for value in request.args.getlist(name) if value],
    }


def _chips(args: Args) -> list[tuple[str, str]]:
    """Each filter in force in words, with the address of the list without it."""
    return [
        (f"{NAMES[name]}: {_word(args, name, value)}", url_without(name, value))
        for name in NAMES
        for value in dict.fromkeys(value for value in args.getlist(name) if value.strip())
    ]


def _word(args: Args, name: str, value: str) -> str:
    if name in {"since", "until"}:
        at = parse_moment(args, name, zone=person_zone())
        return moment_title(at) if at else ""
    return label(name, value) if name in {"action", "outcome"} else visible(value)
