"""Idempotency records: which keys wait for an outcome, and what a key's sender would get."""

from collections.abc import Iterable, Sequence
from typing import Any

from flask import Blueprint, render_template, request, url_for
from flask_babel import LazyString, gettext, lazy_gettext, ngettext
from sqlalchemy.orm import Session

from dashboard.db import clock
from dashboard.domain.keys import UNSETTLED, KeyState, is_stuck, resend
from dashboard.domain.permissions import Permission, Scope, scopes
from dashboard.domain.redaction import redact
from dashboard.domain.text import visible
from dashboard.queries import idempotency as queries
from dashboard.queries.idempotency import RecordFilter
from dashboard.web.context import actor, read, requires
from dashboard.web.filters import (
    Args,
    page_urls,
    parse_choice_set,
    parse_flag,
    parse_position,
    parse_text,
    parse_text_set,
    url_with,
    url_without,
)
from dashboard.web.formatting import capped
from dashboard.web.labels import label
from dashboard.web.stored_answers import again, headers_of, sentence_of, text_of

blueprint = Blueprint("idempotency", __name__, url_prefix="/idempotency")

LARGEST_NUMBER = 2**63 - 1
LONGEST_NAME = 64
LONGEST_KEY = 255
NAMES: dict[str, LazyString] = {
    "key": lazy_gettext("Key"),
    "state": lazy_gettext("State"),
    "operation": lazy_gettext("Operation"),
    "tenant": lazy_gettext("Tenant"),
    "conflicts": lazy_gettext("Only with conflicts"),
}


@blueprint.get("")
@requires(Permission.BROWSE)
def index() -> str:
    """List the records within the person's grants, newest first."""
    visible_scopes = scopes(actor().grants, Permission.BROWSE)
    filters, position = _filter(request.args), parse_position(request.args)
    with read() as session:
        page = queries.list_records(session, filters, scopes=visible_scopes, position=position)
        total = queries.count_records(session, filters, scopes=visible_scopes)
        groups = _groups(session, filters, visible_scopes)
        offered = queries.choices(session, scopes=visible_scopes)
        now = clock(session)
    return render_template(
        "idempotency/index.html",
        page=page,
        total=ngettext("%(count)s record", "%(count)s records", total.value, count=capped(total.value + total.capped)),
        groups=groups,
        urls=page_urls(page),
        first_url=url_with(),
        limit=position.limit,
        chips=_chips(request.args),
        fields=[
            _field("state", KeyState),
            _field("operation", offered.operations),
            _field("tenant", offered.tenants),
        ],
        now=now,
    )


@blueprint.get(f"/<int(max={LARGEST_NUMBER}):number>")
@requires(Permission.BROWSE)
def show(number: int) -> str:
    """Show one record: what its key would get now, and the answer that is stored under it."""
    visible_scopes = scopes(actor().grants, Permission.BROWSE)
    with read() as session:
        record = queries.get_record(session, number, scopes=visible_scopes)
        body = queries.body_of(session, number)
        operation = queries.operation_of(session, record, scopes=visible_scopes)
        now = clock(session)
    outcome = resend(
        record.state,
        status=record.response_status,
        lease_until=record.lease_until,
        expires_at=record.expires_at,
        now=now,
    )
    return render_template(
        "idempotency/show.html",
        record=record,
        operation=operation,
        sentence=sentence_of(outcome, record),
        again=again(outcome, record),
        stuck=_is_stuck(record, now=now),
        headers=headers_of(record.response_headers),
        body=text_of(body),
        resources=redact(record.resource_ids),
        now=now,
    )


@blueprint.app_template_filter("key_stuck")
def _is_stuck(record: Any, now: Any) -> bool:
    return is_stuck(record.state, lease_until=record.lease_until, created_at=record.created_at, now=now)


def _filter(args: Args) -> RecordFilter:
    return RecordFilter(
        states=parse_choice_set(args, "state", KeyState),
        tenants=parse_text_set(args, "tenant", maximum=LONGEST_NAME),
        operations=parse_text_set(args, "operation", maximum=LONGEST_NAME),
        conflicts=parse_flag(args, "conflicts"),
        key=parse_text(args, "key", maximum=LONGEST_KEY),
    )


def _groups(
    session: Session, filters: RecordFilter, visible_scopes: Sequence[Scope]
) -> list[tuple[str, str, int | None, bool]]:
    """The three looks at all records: address, words, how many, and whether it is this one."""
    unsettled, conflicted = RecordFilter(states=frozenset(UNSETTLED)), RecordFilter(conflicts=True)
    looks: tuple[tuple[RecordFilter, str, dict[str, Any]], ...] = (
        (RecordFilter(), gettext("All"), {}),
        (unsettled, gettext("Unsettled"), {"state": sorted(UNSETTLED)}),
        (conflicted, gettext("With conflicts"), {"conflicts": 1}),
    )
    return [
        (
            url_for("idempotency.index", **parameters),
            str(words),
            queries.count_records(session, look, scopes=visible_scopes).value if parameters else None,
            filters == look,
        )
        for look, words, parameters in looks
    ]


def _field(name: str, options: Iterable[str]) -> dict[str, Any]:
    chosen = [value for value in request.args.getlist(name) if value]
    every = dict.fromkeys((*(str(option) for option in options), *chosen))
    return {
        "name": name,
        "label": NAMES[name],
        "options": [(value, _word(name, value)) for value in every],
        "chosen": chosen,
    }


def _chips(args: Args) -> list[tuple[str, str]]:
    """Each filter in force in words, with the address of the list without it."""
    found = [
        (f"{NAMES[name]}: {_word(name, value)}", url_without(name, value))
        for name in ("key", "state", "operation", "tenant")
        for value in dict.fromkeys(value for value in args.getlist(name) if value.strip())
    ]
    return [*found, (str(NAMES["conflicts"]), url_without("conflicts"))] if args.get("conflicts") == "1" else found


def _word(name: str, value: str) -> str:
    return label("key_state", value) if name == "state" else visible(value)
