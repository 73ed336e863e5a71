"""What a browser says it is, in a few words: enough to recognise one's own sessions, and no proof of anything."""

from dashboard.web.language import gettext

# The first that fits counts: most browsers name those they descend from as well.
BROWSERS = (
    ("Edg", "Edge"),
    ("OPR/", "Opera"),
    ("Firefox/", "Firefox"),
    ("FxiOS/", "Firefox"),
    ("CriOS/", "Chrome"),
    ("Chrome/", "Chrome"),
    ("Safari/", "Safari"),
)
SYSTEMS = (
    ("Windows", "Windows"),
    ("Android", "Android"),
    ("iPhone", "iOS"),
    ("iPad", "iPadOS"),
    ("Mac OS X", "macOS"),
    ("CrOS", "ChromeOS"),
    ("Linux", "Linux"),
)


def device(user_agent: str | None) -> str:
    """Give browser and system in words; both may be unknown."""
    browser, system = _first(BROWSERS, user_agent or ""), _first(SYSTEMS, user_agent or "")
    if browser and system:
        return gettext("%(browser)s on %(system)s", browser=browser, system=system)
    return browser or system or gettext("Unknown browser")


def _first(names: tuple[tuple[str, str], ...], text: str) -> str:
    return next((name for mark, name in names if mark in text), "")
