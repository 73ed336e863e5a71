"""The header that every change needs, as the document describes it."""

from typing import Any

from dashboard.domain.key_syntax import HEADER, LONGEST_KEY

_BARE = r"[!#-+\--~]([ -+\--~]*[!-+\--~])?"
_QUOTED = r'"([ !#-\[\]-~]|\\["\\])*[!#-\[\]-~]([ !#-\[\]-~]|\\["\\])*"'
KEY_HEADER: dict[str, Any] = {
    "name": HEADER,
    "in": "header",
    "required": True,
    "description": "A name of your own for this change, in quotes or without; new for each intention.",
    "schema": {"type": "string", "minLength": 1, "maxLength": LONGEST_KEY, "pattern": f"^({_BARE}|{_QUOTED})$"},
}
