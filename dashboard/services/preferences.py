"""How people want pages to look: language, time zone, appearance, shortcuts."""

from collections.abc import Collection
from dataclasses import asdict, dataclass
from datetime import datetime
from zoneinfo import available_timezones

from sqlalchemy.orm import Session

from dashboard.domain.errors import InvalidInputError, Problem
from dashboard.domain.permissions import Actor
from dashboard.models import User
from dashboard.services import audit

THEMES = ("system", "light", "dark")


@dataclass(frozen=True)
class Preferences:
    """What a person chose about how pages look; None leaves language or time zone to the default."""

    locale: str | None
    timezone: str | None
    theme: str
    shortcuts: bool


def set_preferences(
    session: Session, *, actor: Actor, user_id: int, chosen: Preferences, languages: Collection[str], now: datetime
) -> None:
    """Keep how a person wants pages to look; raises InvalidInputError (locale_unknown, timezone_unknown, ...)."""
    problems = _check_preferences(chosen, languages)
    if problems:
        raise InvalidInputError(problems)
    user = session.get_one(User, user_id, with_for_update=True)
    before = Preferences(user.locale, user.timezone, user.theme, user.shortcuts)
    if chosen == before:
        return
    user.locale, user.timezone = chosen.locale, chosen.timezone
    user.theme, user.shortcuts = chosen.theme, chosen.shortcuts
    session.flush()
    audit.append(
        session,
        actor=actor,
        action="preferences_changed",
        subject=user.email,
        now=now,
        before=asdict(before),
        after=asdict(chosen),
    )


def _check_preferences(chosen: Preferences, languages: Collection[str]) -> tuple[Problem, ...]:
    problems = []
    if chosen.locale is not None and chosen.locale not in languages:
        problems.append(Problem("locale", "locale_unknown"))
    if chosen.timezone is not None and chosen.timezone not in available_timezones():
        problems.append(Problem("timezone", "timezone_unknown"))
    if chosen.theme not in THEMES:
        problems.append(Problem("theme", "theme_unknown"))
    return tuple(problems)
