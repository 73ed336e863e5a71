"""Signing in and out."""

from math import ceil

from flask import Blueprint, redirect, render_template, request, session, url_for
from flask.typing import ResponseReturnValue

from dashboard.db import clock
from dashboard.services import sign_in as signing_in
from dashboard.services.throttling import WRONG, Refused
from dashboard.web import kept, provider, sessions
from dashboard.web.context import actor, database, person, public, request_id, settings, write
from dashboard.web.kept import Kept
from dashboard.web.language import gettext, lazy_gettext, ngettext
from dashboard.web.navigation import home

blueprint = Blueprint("login", __name__)

STATUS = {WRONG: 401, signing_in.NO_GRANTS: 403}
REFUSALS = {
    WRONG: lazy_gettext("The e-mail address and the password do not belong together."),
    signing_in.NO_GRANTS: lazy_gettext(
        "Your account has no access to anything yet. Ask an administrator to give you a role."
    ),
}


@blueprint.get("/login")
@public
def form() -> ResponseReturnValue:
    """Show the sign-in form; who is signed in already goes on."""
    path = kept.local_path(request.args.get("next")) or ""
    if person():
        return redirect(path or home())
    return sign_in_page(Kept(path), ended="ended" in request.args, left="left" in request.args)


@blueprint.post("/login")
@public
def submit() -> ResponseReturnValue:
    """Check the password; with kept text, offer to take it back to its form."""
    if not settings().local_sign_in:
        problem = gettext("Passwords are not used here. Sign in at the identity provider.")
        return sign_in_page(kept.from_sign_in(), status=403, problem=problem)
    outcome = signing_in.sign_in(
        database(),
        email=request.form.get("email", ""),
        password=request.form.get("password", ""),
        address=request.remote_addr,
        request_id=request_id(),
    )
    wanted = kept.from_sign_in()
    if isinstance(outcome, Refused):
        return _refuse(outcome, wanted)
    sessions.begin(outcome.person)
    if wanted.fields:
        return resume_page(wanted, title=gettext("You are signed in again"))
    # What only takes forms cannot be shown.
    path = wanted.path if kept.takes(wanted.path, "GET") else ""
    return redirect(path or home(outcome.person), 303)


@blueprint.post("/logout")
@public
def leave() -> ResponseReturnValue:
    """End the session, on the server too; offer to end the one at the provider."""
    leaves = session.get("provider_leaves") if provider.is_there() else None
    if person():
        leaving = actor()
        write(lambda own: signing_in.sign_out(own, actor=leaving, now=clock(own)))
    sessions.end()
    return redirect(url_for("login.form", left=1 if leaves else None), 303)


def sign_in_page(
    wanted: Kept, *, status: int = 200, problem: str = "", ended: bool = False, left: bool = False
) -> tuple[str, int]:
    """Show the ways to sign in, with the text that waits for it."""
    page = render_template(
        "login/sign_in.html",
        kept=wanted,
        problem=problem,
        ended=ended,
        left=left and provider.is_there(),
        local=settings().local_sign_in,
        provider=(settings().oidc_name or gettext("single sign-on")) if provider.is_there() else "",
        email=request.form.get("email", "") if request.endpoint == "login.submit" else "",
    )
    return page, status


def resume_page(wanted: Kept, *, title: str, status: int = 200) -> tuple[str, int]:
    """Offer to take kept text back to its form; nothing has been saved yet."""
    return render_template("login/resume.html", kept=wanted, title=title), status


def _refuse(refused: Refused, wanted: Kept) -> ResponseReturnValue:
    page = sign_in_page(wanted, status=STATUS.get(refused.code, 429), problem=_in_words(refused))
    return (*page, {"Retry-After": str(refused.retry_after)}) if refused.retry_after else page


def _in_words(refused: Refused) -> str:
    if refused.code in REFUSALS:
        return str(REFUSALS[refused.code])
    return str(
        ngettext(
            "Too many failed attempts. Try again in %(num)d minute.",
            "Too many failed attempts. Try again in %(num)d minutes.",
            ceil(refused.retry_after / 60),
        )
    )
