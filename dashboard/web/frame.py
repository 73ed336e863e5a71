"""What the layout of every page needs: language, theme, addresses of assets, navigation."""

from functools import cache
from pathlib import Path
from zlib import crc32

from babel import Locale
from flask import Flask, current_app, request, url_for
from flask_babel import Babel

from dashboard import __version__
from dashboard.config import Settings
from dashboard.resources import resource_dir, vendor_asset
from dashboard.web import compiling, context, language, navigation

DEFAULT_LANGUAGE = "en"


def install(app: Flask, settings: Settings) -> None:
    """Give templates their languages and the variables of the layout."""
    app.config["BABEL_TRANSLATION_DIRECTORIES"] = str(resource_dir("translations"))
    Babel(app, locale_selector=_language, timezone_selector=_timezone)
    language.install(app)
    compiling.install(app)
    app.jinja_env.globals.update(static_url=static_url, vendor=vendor_url)
    app.context_processor(lambda: _variables(settings))


def languages() -> tuple[str, ...]:
    """Give the languages there are translations for, English first."""
    return _languages()


def static_url(name: str) -> str:
    """Give the address of a file below static/; it changes with the content, so browsers may keep it for ever."""
    path = _static_path(name)
    return f"{request.script_root}{current_app.static_url_path}/{name}?v={_digest(path, path.stat().st_mtime_ns)}"


def vendor_url(name: str) -> str:
    """Give the address of a third-party asset, whose name carries its hash."""
    return url_for("static", filename=vendor_asset(name))


def _variables(settings: Settings) -> dict[str, object]:
    person, screens = context.person(), navigation.items()
    return {
        "current_user": person,
        "environment": settings.environment,
        "nav": screens,
        "alarm": navigation.alarm(screens),
        "locale": language.language().locale,
        "theme": person.theme if person else "system",
        "shortcuts": "on" if person and person.shortcuts else "off",
        "search_query": "",
        "version": __version__,
        "request_id": context.request_id(),
    }


def _language() -> str:
    person = context.person()
    if person and person.locale in languages():
        return str(person.locale)
    # Browsers write pt-BR where Babel writes pt_BR.
    asked = request.accept_languages.best_match([tag.replace("_", "-") for tag in languages()], DEFAULT_LANGUAGE)
    return asked.replace("-", "_")


def _timezone() -> str:
    person = context.person()
    return person.timezone or "UTC" if person else "UTC"


@cache
def _languages() -> tuple[str, ...]:
    folders = resource_dir("translations").glob("*/LC_MESSAGES/messages.mo")
    others = sorted({str(Locale.parse(folder.parts[-3])) for folder in folders} - {DEFAULT_LANGUAGE})
    return (DEFAULT_LANGUAGE, *others)


@cache
def _static_path(name: str) -> Path:
    return resource_dir("static") / name


@cache
def _digest(path: Path, _changed: int) -> str:
    return f"{crc32(path.read_bytes()):08x}"
