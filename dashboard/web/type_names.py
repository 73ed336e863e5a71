"""Names of operation types in addresses: any text that a type may be called, as one part of the path.

Servers and browsers take a slash for a border and dots for a way up even where they are escaped, so these are escaped
once more.
"""

from urllib.parse import quote, unquote

from flask.blueprints import BlueprintSetupState
from werkzeug.routing import BaseConverter


class TypeName(BaseConverter):
    """A type's name in a rule: `<type_name:name>`; one with slashes is understood as a person types it, too."""

    part_isolating = False
    regex = r"[^/][\s\S]*?"

    def to_python(self, value: str) -> str:
        """Read a name."""
        return unquote(value, errors="replace")

    def to_url(self, value: str) -> str:
        """Write a name."""
        escaped = value.replace("%", "%25").replace("/", "%2F")
        return quote(escaped.replace(".", "%2E") if set(value) == {"."} else escaped, safe="")


def know_names(state: BlueprintSetupState) -> None:
    """Let an application know these rules: `blueprint.record_once(know_names)` before its first one."""
    state.app.url_map.converters["type_name"] = TypeName
