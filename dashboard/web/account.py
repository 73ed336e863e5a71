"""The account page: language, time zone, appearance, password, sessions."""

from zoneinfo import available_timezones

from babel import Locale
from flask import Blueprint, flash, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue
from flask_babel import gettext

from dashboard.db import clock
from dashboard.domain.errors import InvalidInputError, Problem
from dashboard.services import password_change, users
from dashboard.services.users import THEMES, Person, Preferences
from dashboard.web import sessions
from dashboard.web.context import actor, database, known_person, signed_in, write
from dashboard.web.frame import languages
from dashboard.web.labels import label
from dashboard.web.wording import by_field

blueprint = Blueprint("account", __name__, url_prefix="/account")


@blueprint.get("")
@signed_in
def show() -> str:
    """Show what can be set."""
    return _page(_preferences_of(known_person()), {})


@blueprint.post("")
@signed_in
def save() -> ResponseReturnValue:
    """Keep the preferences."""
    asking, person = actor(), known_person()
    chosen = Preferences(
        locale=request.form.get("locale") or None,
        timezone=request.form.get("timezone") or None,
        theme=request.form.get("theme", "system"),
        shortcuts="shortcuts" in request.form,
    )
    try:
        write(
            lambda session: users.set_preferences(
                session, actor=asking, user_id=person.id, chosen=chosen, languages=languages(), now=clock(session)
            )
        )
    except InvalidInputError as error:
        return _page(chosen, by_field(error)), 422
    flash(gettext("Your preferences were saved."), "ok")
    return redirect(url_for("account.show"), 303)


@blueprint.post("/password")
@signed_in
def change_password() -> ResponseReturnValue:
    """Change the password; other sessions end, this one goes on."""
    person = known_person()
    current, new = request.form.get("current_password", ""), request.form.get("new_password", "")
    try:
        _refuse_a_slip(new, request.form.get("new_password_again", ""))
        password_change.change_password(database(), actor=actor(), user_id=person.id, current=current, new=new)
    except InvalidInputError as error:
        return _page(_preferences_of(person), by_field(error)), 422
    sessions.renew(person.id)
    flash(gettext("Your password was changed. Your other sessions have ended."), "ok")
    return redirect(url_for("account.show"), 303)


@blueprint.post("/sign-out-everywhere")
@signed_in
def sign_out_everywhere() -> ResponseReturnValue:
    """End all sessions of the person, this one too."""
    asking, person = actor(), known_person()
    write(lambda session: users.sign_out_everywhere(session, actor=asking, user_id=person.id, now=clock(session)))
    sessions.end()
    flash(gettext("You are signed out everywhere."), "ok")
    return redirect(url_for("login.form"), 303)


def _page(chosen: Preferences, problems: dict[str, str]) -> str:
    return render_template(
        "account/show.html",
        person=known_person(),
        chosen=chosen,
        problems=problems,
        languages=[(tag, Locale.parse(tag).get_display_name(tag)) for tag in languages()],
        zones=[(zone, zone.replace("_", " ")) for zone in _zones()],
        themes=[(theme, label("theme", theme)) for theme in THEMES],
    )


def _preferences_of(person: Person) -> Preferences:
    return Preferences(person.locale, person.timezone, person.theme, person.shortcuts)


def _refuse_a_slip(password: str, again: str) -> None:
    if password != again:
        raise InvalidInputError((Problem("new_password_again", "passwords_differ"),))


def _zones() -> list[str]:
    # Without a slash there are only old aliases, such as GB or EST5EDT.
    return ["UTC", *sorted(zone for zone in available_timezones() if "/" in zone and not zone.startswith("Etc/"))]
