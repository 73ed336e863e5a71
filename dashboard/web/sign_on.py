"""Signing on at the identity provider: sent there, back with a code, and out again."""

from flask import Blueprint, abort, flash, redirect, request, session, url_for
from flask.typing import ResponseReturnValue

from dashboard.services import sign_on as signing_on
from dashboard.services.group_grants import grants_for
from dashboard.services.sign_in import NO_GRANTS
from dashboard.services.throttling import Refused
from dashboard.web import kept, provider, sessions
from dashboard.web.context import database, person, public, request_id
from dashboard.web.kept import Kept
from dashboard.web.language import gettext, lazy_gettext
from dashboard.web.login import sign_in_page
from dashboard.web.navigation import home
from dashboard.web.provider import ProviderError
from dashboard.web.wording import SENTENCES

blueprint = Blueprint("sign_on", __name__, url_prefix="/login/provider")

WANTED = "wanted"
LEAVES = "provider_leaves"
STATUS = {"provider_away": 503, "provider_refused": 502, "token_invalid": 502, "state_wrong": 400}
# What the provider itself did is worded with all other errors.
REFUSALS = {
    NO_GRANTS: lazy_gettext(
        "None of your groups gives access here. Ask whoever manages your groups at the identity provider."
    ),
    signing_on.EMAIL_MISSING: lazy_gettext("The identity provider did not say your e-mail address."),
    signing_on.EMAIL_UNVERIFIED: lazy_gettext(
        "Your e-mail address is not verified at the identity provider. Verify it there, then sign in again."
    ),
    signing_on.EMAIL_TAKEN: lazy_gettext(
        "Another account has your e-mail address already, and it is not taken over. Ask an administrator to decide."
    ),
    signing_on.SUBJECT_INVALID: lazy_gettext("The identity provider did not say who you are in a form we can keep."),
    signing_on.DISABLED: lazy_gettext("Your account is disabled. Ask an administrator."),
    signing_on.MIXED: lazy_gettext(
        "Your groups make you an administrator and something else, which nobody may be. Ask whoever manages them."
    ),
}


@blueprint.get("")
@public
def start() -> ResponseReturnValue:
    """Send the browser to the provider; who is signed in already goes on."""
    _needs_provider()
    path = kept.local_path(request.args.get("next")) or ""
    if person():
        return redirect(path or home())
    session[WANTED] = path
    try:
        return provider.send_there()
    except ProviderError as error:
        return _failed(error)


@blueprint.get("/return")
@public
def finish() -> ResponseReturnValue:
    """Let in whom the provider names; a new session begins."""
    _needs_provider()
    path = kept.local_path(session.get(WANTED)) or ""
    if person():
        return redirect(path or home())
    try:
        claims = provider.claims()
    except ProviderError as error:
        return _failed(error)
    outcome = signing_on.sign_on(
        database(),
        claims=claims,
        grants=grants_for(claims.groups, provider.group_grants()),
        address=request.remote_addr,
        request_id=request_id(),
    )
    if isinstance(outcome, Refused):
        return _refuse(outcome, path)
    sessions.begin(outcome.person)
    session[LEAVES] = provider.ends_sessions()
    return redirect(path if kept.takes(path, "GET") else home(outcome.person))


@blueprint.get("/leave")
@public
def leave() -> ResponseReturnValue:
    """Send the browser to where the provider ends its own session."""
    _needs_provider()
    try:
        url = provider.way_out()
    except ProviderError as error:
        return _failed(error)
    if url is None:
        flash(gettext("The identity provider does not say how to sign out there."), "info")
        return redirect(url_for("login.form"))
    return redirect(url)


def _needs_provider() -> None:
    if not provider.is_there():
        abort(404)


def _failed(error: ProviderError) -> ResponseReturnValue:
    outcome = signing_on.refuse(
        database(), code=error.code, address=request.remote_addr, request_id=request_id(), detail=error.detail
    )
    return _refuse(outcome, kept.local_path(session.get(WANTED)) or "")


def _refuse(refused: Refused, path: str) -> ResponseReturnValue:
    return sign_in_page(
        Kept(path),
        status=STATUS.get(refused.code, 403),
        problem=str(REFUSALS.get(refused.code) or SENTENCES[refused.code]),
    )
