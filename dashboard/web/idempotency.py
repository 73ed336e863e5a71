"""Idempotency records: which keys wait for an outcome, and what a key's sender would get."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from flask import Blueprint, render_template, request, url_for
from flask_babel import LazyString
from sqlalchemy.orm import Session
from werkzeug.datastructures import MultiDict

from dashboard.domain.keys import OWN_PREFIX, PENDING_LONG, UNSETTLED, KeyState, Stuck, is_stuck, resend
from dashboard.domain.masking import mask
from dashboard.domain.permissions import Permission, Scope, scopes
from dashboard.domain.redaction import redact
from dashboard.domain.text import visible
from dashboard.edge.filters import (
    Args,
    parse_choice,
    parse_choice_set,
    parse_flag,
    parse_position,
    parse_text,
    parse_text_set,
)
from dashboard.queries import idempotency as queries
from dashboard.queries.idempotency import RecordFilter
from dashboard.queries.keyset import LARGEST_NUMBER
from dashboard.queries.reveals import revealed_fields
from dashboard.web import context
from dashboard.web.context import actor, policies, read, requires
from dashboard.web.formatting import counted
from dashboard.web.labels import label
from dashboard.web.language import gettext, lazy_gettext, ngettext
from dashboard.web.lists import Look, chips, field, flag_word, paged
from dashboard.web.stored_answers import again, headers_of, sentence_of, text_of

blueprint = Blueprint("idempotency", __name__, url_prefix="/idempotency")

LONGEST_NAME = 64
LONGEST_KEY = 255
NAMES: dict[str, LazyString] = {
    "key": lazy_gettext("Key"),
    "state": lazy_gettext("State"),
    "operation": lazy_gettext("Operation"),
    "tenant": lazy_gettext("Tenant"),
    "conflicts": lazy_gettext("Only with conflicts"),
    "replayed": lazy_gettext("Only replayed"),
    "stuck": lazy_gettext("Needs a look"),
}
STUCK: dict[str, LazyString] = {
    Stuck.SILENT: lazy_gettext("its owner went silent"),
    Stuck.LATE: lazy_gettext("no outcome for an hour"),
}
FLAGS = ("conflicts", "replayed")


@blueprint.get("")
@requires(Permission.BROWSE)
def index() -> str:
    """List the records within the person's grants, newest first."""
    visible_scopes = scopes(actor().grants, Permission.BROWSE)
    position = parse_position(request.args)
    with read() as session:
        now = context.now()
        filters = _filter(request.args, now=now)
        page = queries.list_records(session, filters, scopes=visible_scopes, position=position)
        [total] = queries.count_records(session, [filters], scopes=visible_scopes)
        looks = _looks(session, filters, visible_scopes, now=now)
        offered = queries.choices(session, scopes=visible_scopes)
    return render_template(
        "idempotency/index.html",
        **paged(page, position),
        total=ngettext("%(count)s record", "%(count)s records", total.value, count=counted(total)),
        looks_at=looks,
        chips=chips(request.args, names=NAMES, word=_chip_word),
        fields=[
            field(name, options, names=NAMES, word=_word)
            for name, options in (
                ("state", KeyState),
                ("operation", offered.operations),
                ("tenant", offered.tenants),
            )
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
        own = record.operation.startswith(OWN_PREFIX)
        body = None if own else queries.body_of(session, number)
        conflicts = queries.conflicts_of(session, record)
        operation = queries.operation_of(session, record, scopes=visible_scopes)
        now = context.now()
        person = actor().id
        revealed = revealed_fields(session, operation.id, person=person, now=now) if operation else {}
    masked = policies().of(operation.type if operation else record.operation).hiding(revealed=revealed).mask
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
        own=own,
        operation=operation,
        sentence=sentence_of(outcome, record),
        again=again(outcome, record),
        stuck=_is_stuck(record, now=now),
        conflicts=conflicts,
        headers=headers_of(record.response_headers),
        body=text_of(body, masked=masked),
        resources=mask(redact(record.resource_ids), paths=masked),
        now=now,
    )


@blueprint.app_template_filter("key_stuck")
def _is_stuck(record: Any, now: Any) -> bool:
    return is_stuck(record.state, lease_until=record.lease_until, created_at=record.created_at, now=now)


def _filter(args: Args, *, now: datetime) -> RecordFilter:
    stuck = parse_choice(args, "stuck", Stuck)
    return RecordFilter(
        states=parse_choice_set(args, "state", KeyState),
        tenants=parse_text_set(args, "tenant", maximum=LONGEST_NAME),
        operations=parse_text_set(args, "operation", maximum=LONGEST_NAME),
        conflicts=parse_flag(args, "conflicts"),
        replayed=parse_flag(args, "replayed"),
        silent_at=now if stuck == Stuck.SILENT else None,
        waiting_since=now - PENDING_LONG if stuck == Stuck.LATE else None,
        key=parse_text(args, "key", maximum=LONGEST_KEY),
    )


def _looks(session: Session, filters: RecordFilter, visible_scopes: Sequence[Scope], *, now: datetime) -> list[Look]:
    looks: tuple[tuple[str, dict[str, Any]], ...] = (
        (gettext("All"), {}),
        (gettext("Unsettled"), {"state": sorted(UNSETTLED)}),
        (gettext("Owner went silent"), {"stuck": Stuck.SILENT.value}),
        (gettext("No outcome for an hour"), {"stuck": Stuck.LATE.value}),
        (gettext("With conflicts"), {"conflicts": "1"}),
        (gettext("Replayed"), {"replayed": "1"}),
    )
    asked = [_filter(MultiDict(parameters), now=now) for _, parameters in looks]
    # All of them is not counted: it says nothing of what to do.
    totals = [None, *queries.count_records(session, asked[1:], scopes=visible_scopes)]
    return [
        Look(url_for("idempotency.index", **parameters), str(words), total, filters == look)
        for (words, parameters), look, total in zip(looks, asked, totals, strict=True)
    ]


def _word(name: str, value: str) -> str:
    if name == "stuck":
        return str(STUCK[value])
    return label("key_state", value) if name == "state" else visible(value)


def _chip_word(name: str, value: str) -> str | None:
    return flag_word(value) if name in FLAGS else _word(name, value)
