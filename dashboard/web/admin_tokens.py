"""Tokens of the API for administrators: the list, making one, its secret shown once, and revoking it."""

import re
from datetime import datetime, timedelta
from uuid import uuid4

from flask import Blueprint, flash, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue

from dashboard.db import clock
from dashboard.domain.errors import InvalidInputError, NotFoundError
from dashboard.domain.permissions import TOKEN_PERMISSIONS, Permission
from dashboard.domain.states import known
from dashboard.models import ApiToken
from dashboard.services import tokens
from dashboard.web import context, once
from dashboard.web.context import actor, read, requires, write
from dashboard.web.labels import label
from dashboard.web.language import gettext
from dashboard.web.wording import by_field

blueprint = Blueprint("admin_tokens", __name__, url_prefix="/admin")

DAYS = re.compile(r"[0-9]{1,4}")
BETWEEN_TYPES = re.compile(r"[\s,]+")
ONCE = "token:"


@blueprint.get("/tokens")
@requires(Permission.ADMINISTER)
def index() -> str:
    """List all tokens, those that have ended as well."""
    with read() as session:
        found, now = tokens.list_tokens(session), context.now()
    return render_template("admin/tokens/index.html", tokens=[(row, _status(row, now)) for row in found])


# Not below /tokens: a token may be called anything there.
@blueprint.get("/new-token")
@requires(Permission.ADMINISTER)
def new() -> str:
    """Show the form for a new token."""
    return _form({})


@blueprint.post("/tokens")
@requires(Permission.ADMINISTER)
def add() -> ResponseReturnValue:
    """Make a token; the next page shows its secret, once."""
    if "idempotency_key" not in request.form:
        return _form({}, came_back=True), 422
    asking, form = actor(), request.form
    name, days = form.get("name", "").strip(), form.get("days", "").strip()
    try:
        secret = write(
            lambda session: tokens.create(
                session,
                actor=asking,
                name=name,
                tenant=form.get("tenant", "").strip(),
                types=[each for each in BETWEEN_TYPES.split(form.get("types", "")) if each],
                permissions=_chosen(),
                expires_in=timedelta(days=int(days)) if DAYS.fullmatch(days) else timedelta(0),
                now=clock(session),
            )
        )[1]
    except InvalidInputError as error:
        return _form(by_field(error)), 422
    once.keep(ONCE + name, secret)
    return redirect(url_for("admin_tokens.show", name=name), 303)


@blueprint.get("/tokens/<name>")
@requires(Permission.ADMINISTER)
def show(name: str) -> str:
    """Show a token; its secret only right after it was made."""
    token, status = _find(name)
    return render_template("admin/tokens/show.html", token=token, status=status, secret=once.take(ONCE + name))


@blueprint.get("/tokens/<name>/revoke")
@requires(Permission.ADMINISTER)
def confirm(name: str) -> str:
    """Say what revoking does."""
    token, status = _find(name)
    return render_template("admin/tokens/revoke.html", token=token, status=status, form_key=uuid4().hex)


@blueprint.post("/tokens/<name>/revoke")
@requires(Permission.ADMINISTER)
def revoke(name: str) -> ResponseReturnValue:
    """End a token for good."""
    if "idempotency_key" not in request.form:
        return confirm(name), 422
    asking = actor()
    ended = write(lambda session: tokens.revoke(session, actor=asking, name=name, now=clock(session)))
    if ended:
        flash(gettext("The token was revoked; the next call with it is refused."), "ok")
    else:
        flash(gettext("It was revoked already: nothing was changed."), "info")
    return redirect(url_for("admin_tokens.show", name=name), 303)


def _find(name: str) -> tuple[ApiToken, str]:
    with read() as session:
        found = next((row for row in tokens.list_tokens(session) if row.name == name), None)
        if found is None:
            raise NotFoundError
        return found, _status(found, context.now())


def _status(row: ApiToken, now: datetime) -> str:
    if row.revoked_at is not None:
        return "revoked"
    return "expired" if row.expires_at <= now else "active"


def _chosen() -> list[Permission]:
    found = (known(Permission, value) for value in request.form.getlist("permission"))
    return [each for each in found if each is not None]


def _form(problems: dict[str, str], *, came_back: bool = False) -> str:
    sent = request.form.getlist("permission") if request.method == "POST" else sorted(tokens.OF_A_HOST)
    return render_template(
        "admin/tokens/new.html",
        typed=request.form,
        days=request.form.get("days", str(tokens.USUAL_LIFE.days)),
        problems={("days" if name == "expires" else name): text for name, text in problems.items()},
        came_back=came_back,
        permissions=[(each.value, label("permission", each), each.value in sent) for each in sorted(TOKEN_PERMISSIONS)],
        form_key=uuid4().hex,
    )
