"""The audit log: who did what, on which grounds, and the proof that nobody changed it since."""

from typing import Any

from flask import Blueprint, flash, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue
from flask_babel import LazyString

from dashboard.domain.masking import Hiding, hide_text, mask_body
from dashboard.domain.permissions import Permission, allows, holds
from dashboard.domain.text import is_operation_id, visible
from dashboard.edge.filters import (
    Args,
    parse_choice_set,
    parse_moment,
    parse_position,
    parse_text,
)
from dashboard.models import AuditEntry
from dashboard.queries import audit as queries
from dashboard.queries.audit import OUTCOMES, VERIFY, AuditFilter
from dashboard.queries.audit_checks import audit_standing
from dashboard.queries.audit_masks import hiding_for, hidings
from dashboard.queries.keyset import LARGEST_NUMBER
from dashboard.services.audit_checks import verify_on_record
from dashboard.web.audit_checks import last_checks, standing_finding
from dashboard.web.audit_entries import changes_of, pretty
from dashboard.web.context import actor, database, policies, read, requires, settings
from dashboard.web.formatting import counted, person_zone
from dashboard.web.labels import LABELS, label
from dashboard.web.language import lazy_gettext, ngettext
from dashboard.web.lists import chips, field, moment_word, paged
from dashboard.web.verifications import Finding, finding_of, found_in

blueprint = Blueprint("audit", __name__, url_prefix="/audit")

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
        hidden = hidings(session, page.rows, policies=policies())
        total = queries.count_entries(session, filters, reader=asking)
        standing = audit_standing(session) if may_verify else None
    return render_template(
        "audit/index.html",
        **paged(page, position),
        # A policy alone names fields; values to be hidden in free text come from operations.
        reasons={row.number: _reason(row, hidden.get(row.subject, Hiding())) for row in page.rows},
        total=ngettext("%(count)s entry", "%(count)s entries", total.value, count=counted(total)),
        chips=chips(request.args, names=NAMES, word=_word),
        fields=[
            field(name, options, names=NAMES, word=_word)
            for name, options in (("action", ACTIONS), ("outcome", OUTCOMES))
        ],
        only_own=not may_verify,
        may_verify=may_verify,
        checks=last_checks(standing, reader=asking) if standing else (),
        finding=standing_finding(standing) if standing else None,
        may_export=holds(asking.grants, Permission.EXPORT),
        times={name: value for name in ("since", "until") if (value := request.args.get(name, "").strip())},
    )


@blueprint.get(f"/<int(max={LARGEST_NUMBER}):seq>")
@requires(Permission.AUDIT_OWN)
def show(seq: int) -> str:
    """Show one entry: what changed, why, on which evidence, and how it is chained."""
    asking = actor()
    with read() as session:
        entry = queries.get_entry(session, seq, reader=asking)
        around = queries.neighbours(session, entry, reader=asking)
        hidden = hidings(session, [entry], policies=policies())
    hiding = hiding_for(entry, hidden, policies=policies())
    before, after, evidence = (_masked(text, hiding) for text in (entry.before, entry.after, entry.evidence))
    return render_template(
        "audit/show.html",
        entry=entry,
        around=around,
        changes=changes_of(before, after),
        evidence=pretty(evidence),
        reason=_reason(entry, hiding),
        finding=_finding(entry),
        operation_url=_operation_url(entry),
    )


@blueprint.post("/verify")
@requires(Permission.AUDIT_SCOPE)
def verify() -> ResponseReturnValue:
    """Walk the whole log, write down what was found, and lead to it."""
    found, seq = verify_on_record(database(), actor=actor(), trusted=settings().trusted_audit_keys())
    if seq is not None:
        return redirect(url_for("audit.show", seq=seq), 303)
    told = finding_of(found)
    flash(f"{told.title} {told.text}", told.tone)
    return redirect(url_for("audit.index"), 303)


def _masked(text: str | None, hiding: Hiding) -> str | None:
    """An entry of before policy masked a field holds it in full."""
    return mask_body(text, paths=hiding.mask, values=hiding.values) if text else text


def _reason(entry: Any, hiding: Hiding) -> str:
    """The words of people, without the masked values that they repeat."""
    return hide_text(entry.reason or "", hiding)


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


def _word(name: str, value: str) -> str:
    if name in {"since", "until"}:
        return moment_word(name)
    return label(name, value) if name in {"action", "outcome"} else visible(value)
