"""What an administrator changes about a person: a page that says the exact effects, and the form that does it.

A change is one of `grant`, `revoke`, `disable`, `enable`, `sign-out`, `password` and `link`; the first two carry a role
and where it holds, in the address of the preview and in the form, and the last one the subject at the provider.
"""

from dataclasses import dataclass, field
from enum import StrEnum
from uuid import uuid4

from flask import Blueprint, abort, flash, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue

from dashboard.db import clock
from dashboard.domain.errors import InvalidInputError, NotFoundError
from dashboard.domain.grant_effects import Effect, effects_of
from dashboard.domain.permissions import Grant, Permission
from dashboard.domain.states import known
from dashboard.domain.text import visible
from dashboard.services import granting, identities, initial_passwords, users
from dashboard.services.grant_rows import check_grants
from dashboard.services.users import Person
from dashboard.web import once, provider
from dashboard.web.admin_users import grant_from, role_options
from dashboard.web.context import actor, database, read, requires, settings, write
from dashboard.web.labels import label
from dashboard.web.language import gettext, ngettext
from dashboard.web.wording import by_field

blueprint = Blueprint("admin_changes", __name__, url_prefix="/admin/users/<int:user_id>")


class Change(StrEnum):
    """What can be changed about a person, as addresses write it."""

    GRANT = "grant"
    REVOKE = "revoke"
    DISABLE = "disable"
    ENABLE = "enable"
    SIGN_OUT = "sign-out"
    LINK = "link"
    PASSWORD = "password"  # noqa: S105 - a word of an address


OF_GRANTS = (Change.GRANT, Change.REVOKE)
DANGEROUS = (Change.REVOKE, Change.DISABLE, Change.LINK)


@dataclass(frozen=True)
class Asked:
    """A change of a person; `grant` is None for changes that have none, and while none was chosen yet."""

    change: Change
    person: Person
    grant: Grant | None = None
    problems: dict[str, str] = field(default_factory=dict)


@blueprint.get("/<change>")
@requires(Permission.ADMINISTER)
def preview(user_id: int, change: str) -> ResponseReturnValue:
    """Say what the change would do; for a new role, once one is chosen."""
    return _page(_asked(user_id, change, choosing="role" not in request.args))


@blueprint.post("/<change>")
@requires(Permission.ADMINISTER)
def apply(user_id: int, change: str) -> ResponseReturnValue:
    """Change it, and go back to the person."""
    asked = _asked(user_id, change)
    if asked.problems or "idempotency_key" not in request.form:
        return _page(asked), 422
    try:
        flash(*_done(asked))
    except InvalidInputError as error:
        return _page(Asked(asked.change, asked.person, asked.grant, by_field(error))), 422
    return redirect(url_for("admin_users.show", user_id=user_id), 303)


def _asked(user_id: int, name: str, *, choosing: bool = False) -> Asked:
    change = known(Change, name) or abort(404)
    if change is Change.LINK and not provider.is_there():
        abort(404)
    with read() as session:
        person = users.find_person(session, user_id=user_id)
    if person is None:
        raise NotFoundError
    if change not in OF_GRANTS or (choosing and change is Change.GRANT):
        return Asked(change, person)
    try:
        grant = grant_from(request.values)
    except InvalidInputError as error:
        return Asked(change, person, problems=by_field(error))
    problems = check_grants([*person.grants, grant]) if change is Change.GRANT else ()
    return Asked(change, person, grant, by_field(InvalidInputError(problems)) if problems else {})


def _done(asked: Asked) -> tuple[str, str]:
    """Do it and say so; raises InvalidInputError."""
    asking, email = actor(), asked.person.email
    if asked.change is Change.PASSWORD:
        once.keep(email, initial_passwords.hand_over(database(), actor=asking, email=email))
        return gettext("A new initial password was made. The old one and all sessions have ended."), "ok"
    if asked.change is Change.LINK:
        who, subject = str(settings().oidc_issuer), request.form.get("subject", "").strip()
        write(
            lambda session: identities.link(
                session, actor=asking, email=email, issuer=who, subject=subject, now=clock(session)
            )
        )
        return gettext("This person signs in at the identity provider from now on."), "ok"
    if asked.change is Change.SIGN_OUT:
        write(lambda session: users.sign_out_user(session, actor=asking, email=email, now=clock(session)))
        return gettext("All sessions of this person have ended."), "ok"
    if asked.grant is not None:
        alter, grant = (granting.add_grant, granting.remove_grant)[asked.change is Change.REVOKE], asked.grant
        changed = write(lambda session: alter(session, actor=asking, email=email, grant=grant, now=clock(session)))
    else:
        switch = users.disable_user if asked.change is Change.DISABLE else users.enable_user
        changed = write(lambda session: switch(session, actor=asking, email=email, now=clock(session)))
    if not changed:
        return gettext("It was so already: nothing was changed."), "info"
    return gettext("Changed. It counts from this person's next request on."), "ok"


def _page(asked: Asked) -> str:
    return render_template(
        "admin/users/change.html",
        change=asked.change.value,
        person=asked.person,
        grant=asked.grant,
        title=_title(asked.change),
        effects=[] if asked.problems and asked.change is not Change.LINK else _effects(asked),
        problems=asked.problems,
        dangerous=asked.change in DANGEROUS,
        roles=role_options(),
        form_key=uuid4().hex,
    )


def _title(change: Change) -> str:
    words = {
        Change.GRANT: gettext("Give a role"),
        Change.REVOKE: gettext("Take the role away"),
        Change.DISABLE: gettext("Disable this account"),
        Change.ENABLE: gettext("Enable this account"),
        Change.SIGN_OUT: gettext("End all sessions"),
        Change.LINK: gettext("Tie to the identity provider"),
        Change.PASSWORD: gettext("Make a new initial password"),
    }
    return str(words[change])


def _effects(asked: Asked) -> list[str]:
    """Say one by one what the change will do."""
    if asked.change in OF_GRANTS:
        return _effects_of_grant(asked) if asked.grant else []
    ends = gettext("All their sessions end at once, unsaved text in open windows is kept there.")
    return {
        Change.DISABLE: [
            ends,
            gettext("They cannot sign in any more, neither with a password nor at the identity provider."),
            gettext("Their roles and everything they did stay as they are; enabling gives it all back."),
        ],
        Change.ENABLE: [
            gettext("They can sign in again."),
            ngettext(
                "They have %(num)d role as before.", "They have %(num)d roles as before.", len(asked.person.grants)
            ),
        ],
        Change.SIGN_OUT: [ends, gettext("They can sign in again at once.")],
        Change.LINK: [
            gettext("Whoever is this subject at the provider signs in as this person, whatever the address there."),
            gettext("Their password counts no more, and their roles are those of their groups from the next sign-on."),
            ends,
        ],
        Change.PASSWORD: [
            gettext("Their password counts no more. The new one is shown to you once: hand it over yourself."),
            gettext("They have to choose their own before anything else opens."),
            ends,
        ],
    }[asked.change]


def _effects_of_grant(asked: Asked) -> list[str]:
    had = asked.person.grants
    has = [each for each in had if each != asked.grant]
    if asked.change is Change.GRANT and asked.grant:
        has = [*had, asked.grant]
    found = effects_of(had, has)
    if not found.gained and not found.lost:
        return [gettext("Nothing changes: other roles of this person allow the same.")]
    return [
        *(gettext("May from now on, for %(where)s: %(what)s.", **_told(each)) for each in found.gained),
        *(gettext("May no longer, for %(where)s: %(what)s.", **_told(each)) for each in found.lost),
    ]


def _told(effect: Effect) -> dict[str, str]:
    tenant = gettext("all tenants") if effect.scope.tenant is None else visible(effect.scope.tenant)
    kind = gettext("all types") if effect.scope.type is None else visible(effect.scope.type)
    return {
        "where": f"{tenant}, {kind}",
        "what": ", ".join(label("permission", each) for each in effect.permissions),
    }
