"""People for administrators: the list, one person, and adding one with an initial password."""

from uuid import uuid4

from flask import Blueprint, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue
from flask_babel import LazyString

from dashboard.domain.errors import InvalidInputError, NotFoundError, Problem
from dashboard.domain.permissions import Grant, Permission, Role
from dashboard.domain.states import known
from dashboard.domain.text import visible
from dashboard.edge.filters import Args, parse_choice, parse_position, parse_text
from dashboard.queries import people
from dashboard.queries.people import SOURCES, STATUSES, PeopleFilter
from dashboard.services import initial_passwords, users
from dashboard.services import sessions as sessions_of
from dashboard.web import context, once, provider, sessions
from dashboard.web.context import actor, database, read, requires, settings
from dashboard.web.devices import device
from dashboard.web.formatting import counted
from dashboard.web.labels import label
from dashboard.web.language import lazy_gettext, ngettext
from dashboard.web.lists import chips, field, paged
from dashboard.web.wording import by_field

blueprint = Blueprint("admin_users", __name__, url_prefix="/admin/users")

LONGEST_TEXT = 254
NAMES: dict[str, LazyString] = {
    "q": lazy_gettext("E-mail contains"),
    "role": lazy_gettext("Role"),
    "status": lazy_gettext("Status"),
    "source": lazy_gettext("Signs in with"),
}
KINDS = {"role": "role", "status": "user_status", "source": "user_source"}


@blueprint.get("")
@requires(Permission.ADMINISTER)
def index() -> str:
    """List people by e-mail."""
    filters, position = _filter(request.args), parse_position(request.args)
    with read() as session:
        page = people.list_people(session, filters, position=position)
        total = people.count_people(session, filters)
        grants = people.grants_by_person(session, [row.number for row in page.rows])
        now = context.now()
    return render_template(
        "admin/users/index.html",
        **paged(page, position),
        total=ngettext("%(count)s person", "%(count)s people", total.value, count=counted(total)),
        grants=grants,
        chips=chips(request.args, names=NAMES, word=_word),
        fields={
            name: field(name, options, names=NAMES, word=_word)
            for name, options in (("role", Role), ("status", STATUSES), ("source", SOURCES))
        },
        text=filters.text or "",
        longest=LONGEST_TEXT,
        now=now,
    )


@blueprint.get("/new")
@requires(Permission.ADMINISTER)
def new() -> str:
    """Show the form for a new person."""
    return _form({})


@blueprint.post("")
@requires(Permission.ADMINISTER)
def add() -> ResponseReturnValue:
    """Add a person with an initial password, which the next page shows once."""
    if "idempotency_key" not in request.form:
        return _form({}, came_back=True), 422
    password = initial_passwords.generate()
    try:
        person = users.add_user(
            database(),
            actor=actor(),
            email=request.form.get("email", ""),
            password=password,
            grants=[grant_from(request.form)],
            initial=True,
        )
    except InvalidInputError as error:
        return _form(by_field(error)), 422
    once.keep(person.email, password)
    return redirect(url_for("admin_users.show", user_id=person.id), 303)


@blueprint.get("/<int:user_id>")
@requires(Permission.ADMINISTER)
def show(user_id: int) -> str:
    """Show a person: roles, where they are signed in, and what can be changed."""
    with read() as session:
        person = users.find_person(session, user_id=user_id)
        facts = people.person_facts(session, user_id)
        if person is None or facts is None:
            raise NotFoundError
        signed_in_at = sessions_of.list_sessions(session, person=person, limits=sessions.limits())
    return render_template(
        "admin/users/show.html",
        person=person,
        about=facts,
        is_me=person.email == actor().id,
        local=settings().local_sign_in,
        provided=provider.is_there(),
        sessions=[(each, device(each.user_agent)) for each in signed_in_at],
        secret=once.take(person.email),
    )


def grant_from(given: Args) -> Grant:
    """Read a role and where it holds from a form or an address; raises InvalidInputError (role_unknown)."""
    role = known(Role, given.get("role", ""))
    if role is None:
        raise InvalidInputError((Problem("role", "role_unknown"),))
    return Grant(role, given.get("tenant", "").strip() or None, given.get("type", "").strip() or None)


def role_options() -> list[tuple[str, str]]:
    """Give the roles and what they are called."""
    return [(role.value, label("role", role)) for role in Role]


def _form(problems: dict[str, str], *, came_back: bool = False) -> str:
    return render_template(
        "admin/users/new.html",
        typed=request.form,
        problems=problems,
        came_back=came_back,
        roles=role_options(),
        form_key=uuid4().hex,
    )


def _filter(args: Args) -> PeopleFilter:
    return PeopleFilter(
        text=parse_text(args, "q", maximum=LONGEST_TEXT),
        role=parse_choice(args, "role", Role),
        status=parse_choice(args, "status", STATUSES),
        source=parse_choice(args, "source", SOURCES),
    )


def _word(name: str, value: str) -> str:
    return label(KINDS[name], value) if name in KINDS else visible(value)
