"""Text that must not be lost: what a person typed into a form that arrived after the session had ended.

The fields travel through the sign-in page as `kept.<name>` and come back to their form without its idempotency key.
A view that gets a form without that key does nothing and shows the form again, so nobody confirms by signing in.
"""

from dataclasses import dataclass
from urllib.parse import urlsplit

from flask import current_app, request
from werkzeug.exceptions import HTTPException

PREFIX = "kept."
NEVER_KEPT = frozenset({"csrf_token", "idempotency_key", "revision", "next"})


@dataclass(frozen=True)
class Kept:
    """The fields of a form, and the path it belongs to."""

    path: str
    fields: tuple[tuple[str, str], ...] = ()


def from_form() -> Kept:
    """Keep what this request wanted to save."""
    # A form of another site is nobody's typed text.
    path = request.script_root + request.path
    if request.method != "POST" or is_foreign():
        return Kept(path)
    return Kept(path, tuple(item for item in request.form.items(multi=True) if _is_text(item[0])))


def from_sign_in() -> Kept:
    """Take on what the sign-in page carried."""
    # Another site could put words into a person's mouth that way, and choose where they go.
    if is_foreign():
        return Kept("")
    fields = tuple(
        (name.removeprefix(PREFIX), value)
        for name, value in request.form.items(multi=True)
        if name.startswith(PREFIX) and _is_text(name.removeprefix(PREFIX))
    )
    path = local_path(request.form.get("next"))
    return Kept(path or "", fields if path and takes(path, "POST") else ())


def is_foreign() -> bool:
    """Tell whether another site sent this form, as far as the browser says so."""
    site = request.headers.get("Sec-Fetch-Site")
    if site:
        return site not in {"same-origin", "none"}
    origin = request.headers.get("Origin")
    return origin is not None and urlsplit(origin).netloc != request.host


def this_page() -> str:
    """Give the address of the page asked for, with its query."""
    query = request.query_string.decode(errors="replace")
    return request.script_root + request.path + (f"?{query}" if query else "")


def page_of_part() -> str:
    """Give the address of the page that htmx asked from."""
    parts = urlsplit(request.headers.get("HX-Current-URL", ""))
    page = parts.path + (f"?{parts.query}" if parts.query else "")
    return local_path(page) or this_page()


def local_path(target: str | None) -> str | None:
    """Give a path of this site, or None where the text would lead anywhere else."""
    if not target or not target.startswith("/") or target.startswith(("//", "/\\")) or not target.isprintable():
        return None
    try:
        parts = urlsplit(target)
    except ValueError:
        return None
    return None if parts.scheme or parts.netloc or "\\" in parts.path else target


def takes(path: str, method: str) -> bool:
    """Tell whether a path of this site leads to a view that takes this method."""
    local = urlsplit(path).path.removeprefix(request.script_root)
    try:
        current_app.url_map.bind("").match(local, method=method)
    except HTTPException:
        return False
    return True


def _is_text(name: str) -> bool:
    return name not in NEVER_KEPT and "password" not in name
