"""A secret that is shown once: it waits in the signed cookie of whoever made it and is gone with its first view."""

from typing import Any

from flask import session

ENTRY = "once"


def keep(name: str, secret: str) -> None:
    """Let the next page about this name show the secret."""
    session[ENTRY] = {"name": name, "secret": secret}


def take(name: str) -> str | None:
    """Give the secret of this name, for the last time; None where it was shown or never was."""
    waiting: Any = session.get(ENTRY)
    if not isinstance(waiting, dict) or waiting.get("name") != name:
        return None
    del session[ENTRY]
    return str(waiting["secret"])
