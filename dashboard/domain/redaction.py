"""Secrets are taken out of evidence, logs and audit entries before anything is stored.

Three rules, each enough alone: the name of a field, the look of a value, and the paths of a policy.
"""

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

REDACTED = "[redacted]"
MAX_DEPTH = 64

SECRET_NAMES: tuple[str, ...] = (
    "authorization",
    "proxy_authorization",
    "cookie",
    "set_cookie",
    "password",
    "passwd",
    "pwd",
    "passphrase",
    "secret",
    "secrets",
    "token",
    "tokens",
    "api_key",
    "apikey",
    "access_key",
    "accesskey",
    "accesstoken",
    "refreshtoken",
    "clientsecret",
    "private_key",
    "privatekey",
    "signing_key",
    "credential",
    "credentials",
    "session_id",
    "sessionid",
    "card_number",
    "cardnumber",
    "cvv",
    "cvc",
    "pan",
)

_WORD_START = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_NOT_WORD = re.compile(r"[^a-z0-9]+")
# Inside longer text a bare "pan" or "cookie" is mostly prose; headers have their own rule.
_NAMED = "|".join(
    name.replace("_", "[-_ ]?")
    for name in SECRET_NAMES
    if name not in {"pan", "cookie", "set_cookie", "authorization", "proxy_authorization"}
)
_SAYS = r"[\\'\"]*\s*[:=]\s*"
_QUOTED = r"\\*(?:\"(?:\\.|[^\"\\])*\"?|'(?:\\.|[^'\\])*'?)"

# What secrets look like inside longer text, and what of it is kept. No rule can start inside its own
# match, so the time stays proportional to the length, whatever the text.
# fmt: off
_LOOKS: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)", re.DOTALL), ""),
    (re.compile(rf"((?:authorization|cookie){_SAYS})[^\r\n]+", re.IGNORECASE), r"\1"),
    (re.compile(rf"((?:{_NAMED}){_SAYS})(?:{_QUOTED}|[^\s,;&'\"}}]+)", re.IGNORECASE), r"\1"),
    (re.compile(r"\b(Bearer)\s+[A-Za-z0-9._~+/=:-]+", re.IGNORECASE), r"\1 "),
    (re.compile(r"\b((?i:Basic))\s+(?=\S*[0-9A-Z=])[A-Za-z0-9+/=]{6,}"), r"\1 "),
    (re.compile(r"(?:sk|rk|pk)_(?:live|test)_\w+"), ""),
    (re.compile(r"\b(?:whsec_|gh[pousr]_|xox[abprs]-|AKIA)[\w-]{6,}"), ""),
    (re.compile(r"\bops_[\w-]{20,}"), ""),
    (re.compile(r"(?<![\w-])eyJ[\w-]{5,}\.[\w-]+(?:\.[\w-]*)?"), ""),
    (re.compile(r"(://)[^/\s:@]*:[^/\s@]+(?=@)"), r"\1"),
)
# fmt: on


# What each of them has in it: most texts have none.
_HINT = re.compile(r"[:=_]|-----BEGIN|bearer|basic|xox|AKIA|eyJ", re.IGNORECASE)


def redact(value: object, *, paths: Iterable[str] = ()) -> object:
    """Return a copy with secrets replaced by `[redacted]`; dotted paths name further fields, lists are passed through.

    The value is what JSON can hold. What is nested deeper than MAX_DEPTH is replaced whole.
    """
    return _redact(value, (), _folded(paths), 0)


def redact_fields(fields: Mapping[str, object], *, paths: Iterable[str] = ()) -> dict[str, object]:
    """Redact an object of named fields, as `redact` does."""
    return _redact_mapping(fields, (), _folded(paths), 0)


def both_sides(paths: Iterable[str]) -> tuple[str, ...]:
    """Add to each path into `expected` the same one into `actual`, or the other side would tell what is hidden."""
    named = tuple(paths)
    mirrored = ("actual." + path.removeprefix("expected.") for path in named if path.startswith("expected."))
    return (*named, *mirrored)


def redact_text(text: str) -> str:
    """Return the text with what looks like a secret replaced."""
    if not _HINT.search(text):
        return text
    for look, kept in _LOOKS:
        text = look.sub(kept + REDACTED, text)
    return text


def is_secret_name(name: str) -> bool:
    """Tell whether a field of this name holds a secret; case, '-' and '_' make no difference."""
    folded = f"_{fold(name)}_"
    return any(f"_{secret}_" in folded for secret in SECRET_NAMES)


def _folded(paths: Iterable[str]) -> "frozenset[_Path]":
    return frozenset(tuple(fold(part) for part in path.split(".")) for path in paths)


@lru_cache(maxsize=4096)
def fold(name: str) -> str:
    """A field's name in the spelling that all its spellings share: case, '-' and '_' make no difference."""
    return _NOT_WORD.sub("_", _WORD_START.sub("_", name).lower()).strip("_")


_Path = tuple[str, ...]


def _redact(value: object, path: _Path, hidden: frozenset[_Path], depth: int) -> object:
    if isinstance(value, str):
        return redact_text(value)
    if not isinstance(value, Mapping | list | tuple):
        return value
    if depth >= MAX_DEPTH:
        return REDACTED
    if isinstance(value, Mapping):
        return _redact_mapping(value, path, hidden, depth)
    if _is_secret_pair(value):
        return [redact_text(value[0]), REDACTED]
    return [_redact(item, path, hidden, depth + 1) for item in value]


def _redact_mapping(
    value: Mapping[Any, object], path: _Path, hidden: frozenset[_Path], depth: int
) -> dict[str, object]:
    named_secret = is_secret_name(str(value.get("name", "")))
    kept: dict[str, object] = {}
    for key, item in value.items():
        name = str(key)
        inner = (*path, fold(name))
        secret = is_secret_name(name) or inner in hidden or (named_secret and inner[-1] == "value")
        kept[redact_text(name)] = REDACTED if secret else _redact(item, inner, hidden, depth + 1)
    return kept


def _is_secret_pair(value: list[object] | tuple[object, ...]) -> bool:
    # Headers often travel as pairs: ["Authorization", "..."].
    match value:
        case [str(name), _]:
            return is_secret_name(name)
    return False
