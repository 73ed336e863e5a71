"""The language of a request: found once, and each of its texts translated once.

Flask-Babel asks for the language and the catalogue again with every text, which took a third of the time of a list of
fifty rows. A text of ours is always the same, so an application keeps what it has translated.
"""

from collections.abc import Mapping
from contextvars import ContextVar
from functools import cache
from typing import Any

from babel import Locale
from babel.dates import get_month_names
from babel.support import NullTranslations
from flask import Flask, appcontext_popped, appcontext_pushed, current_app, has_app_context
from flask_babel import LazyString, get_locale, get_translations
from markupsafe import Markup, escape

from dashboard.web.numerals import Numerals

ENGLISH = Locale("en")
# Asked for hundreds of times a page, and `g` takes twenty times as long.
_SPOKEN: "ContextVar[Language | None]" = ContextVar("language", default=None)


class Language:
    """A locale, its catalogue, and what was translated into it so far."""

    def __init__(self, locale: Locale, catalogue: NullTranslations) -> None:
        self.locale = locale
        self.months: Mapping[int, str] = get_month_names("abbreviated", locale=locale)
        self.numerals = Numerals(locale)
        self.labels: dict[tuple[str, str], str] = {}
        self._catalogue = catalogue
        self._words: dict[str, str] = {}
        self._texts: dict[str, Markup] = {}

    def words(self, words: str) -> str:
        """Translate a text as it is, `%` and all."""
        found = self._words.get(words)
        if found is None:
            found = self._words[words] = str(self._catalogue.ugettext(words))
        return found

    def text(self, words: str) -> Markup:
        """Translate a text that has nothing to fill in; `%%` is a percent sign, as in one that has."""
        found = self._texts.get(words)
        if found is None:
            found = self._texts[words] = Markup(self.words(words) % {})  # noqa: S704 - our words
        return found

    def filled(self, words: str, values: Mapping[str, Any]) -> Markup:
        """Translate a text and fill in the values, escaped."""
        escaped = {name: value if type(value) is int else escape(value) for name, value in values.items()}
        return Markup(self.words(words) % escaped)  # noqa: S704 - our words

    def plural(self, one: str, many: str, count: int, values: Mapping[str, Any]) -> Markup:
        """Translate the form of a text that fits the count; `%(num)s` is the count itself."""
        return Markup(self.form(one, many, count)) % {"num": count, **values}  # noqa: S704 - our words

    def form(self, one: str, many: str, count: int) -> str:
        """Translate the form of a text that fits the count, as it is."""
        return str(self._catalogue.ungettext(one, many, count))


def install(app: Flask) -> None:
    """Let templates translate through it; after Babel, which has its own."""
    app.jinja_env.globals.update(_=translate, gettext=translate, ngettext=translate_plural)
    for changed in (appcontext_pushed, appcontext_popped):
        changed.connect(_forget, app)


def language() -> Language:
    """Give the language of this request; the command line, which has none, speaks English."""
    found = _SPOKEN.get()
    if found is None:
        if not has_app_context():
            return _without_request()
        found = _find()
        speak(found)
    return found


def speak(language: Language | None) -> None:
    """Settle the language until this request ends; None: to be found when somebody asks."""
    _SPOKEN.set(language)


def gettext(words: str, /, **values: object) -> str:
    """Translate a text of the code; nothing is escaped."""
    translated = language().words(words)
    return translated % values if values else translated


def ngettext(one: str, many: str, count: int, /, **values: object) -> str:
    """Translate a text of the code that depends on a count, `%(num)s` in it; nothing is escaped."""
    return language().form(one, many, count) % {"num": count, **values}


def lazy_gettext(words: str, /, **values: object) -> LazyString:
    """Name a text of the code, to be translated for whoever looks at it."""
    return LazyString(gettext, words, **values)


def translate(words: str, /, **values: object) -> Markup:
    """Translate a text of a template; values are escaped."""
    return language().filled(words, values) if values else language().text(words)


def translate_plural(one: str, many: str, count: int, /, **values: object) -> Markup:
    """Translate a text of a template that depends on a count; values are escaped."""
    return language().plural(one, many, count, values)


@cache
def _without_request() -> Language:
    return Language(ENGLISH, NullTranslations())


def _forget(_app: Flask, **_more: object) -> None:
    speak(None)


def _find() -> Language:
    locale = get_locale() or ENGLISH
    known: dict[str, Language] = current_app.extensions.setdefault("dashboard.languages", {})
    if str(locale) not in known:
        known[str(locale)] = Language(locale, get_translations())
    return known[str(locale)]
