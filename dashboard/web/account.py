"""The account page: language, time zone, appearance, password, sessions."""

from zoneinfo import available_timezones

from babel import Locale
from flask import Blueprint, flash, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue

from dashboard.db import clock
from dashboard.domain.errors import InvalidInputError, NotAllowedError, Problem
from dashboard.services import password_change, preferences, users
from dashboard.services import sessions as sessions_of
from dashboard.services.preferences import THEMES, Preferences
from dashboard.services.users import Person
from dashboard.web import sessions
from dashboard.web.context import actor, database, known_person, read, settings, signed_in, write
from dashboard.web.devices import device
from dashboard.web.frame import languages
from dashboard.web.labels import label
from dashboard.web.language import gettext, ngettext
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
            lambda session: preferences.set_preferences(
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
    if not settings().local_sign_in:
        raise NotAllowedError("local_sign_in_off")
    current, new = request.form.get("current_password", ""), request.form.get("new_password", "")
    try:
        _refuse_a_slip(new, request.form.get("new_password_again", ""))
        password_change.change_password(database(), actor=actor(), user_id=person.id, current=current, new=new)
    except InvalidInputError as error:
        return _page(_preferences_of(person), by_field(error)), 422
    sessions.renew(person.id)
    flash(gettext("Your password was changed. Your other sessions have ended."), "ok")
    return redirect(url_for("account.show"), 303)


@blueprint.post("/sessions/<int:session_id>/end")
@signed_in
def end_session(session_id: int) -> ResponseReturnValue:
    """End one session of the person; the present one goes back to the sign-in page."""
    asking, person = actor(), known_person()
    write(
        lambda session: sessions_of.end_one(
            session, actor=asking, person=person, session_id=session_id, now=clock(session)
        )
    )
    flash(gettext("That session has ended."), "ok")
    return redirect(url_for("account.show"), 303)


@blueprint.post("/sessions/end-others")
@signed_in
def end_other_sessions() -> ResponseReturnValue:
    """End all sessions of the person but the present one."""
    asking, person, kept = actor(), known_person(), sessions.current_id()
    ended = write(
        lambda session: sessions_of.end_others(session, actor=asking, person=person, kept=kept, now=clock(session))
    )
    flash(ngettext("%(num)d other session has ended.", "%(num)d other sessions have ended.", ended), "ok")
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
    person = known_person()
    with read() as session:
        signed_in_at = sessions_of.list_sessions(session, person=person, limits=sessions.limits())
    return render_template(
        "account/show.html",
        person=person,
        chosen=chosen,
        problems=problems,
        sessions=[(each, device(each.user_agent), each.id == sessions.current_id()) for each in signed_in_at],
        may_change_password=person.has_password and settings().local_sign_in,
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
