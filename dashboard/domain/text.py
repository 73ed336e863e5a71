"""Text from outside: what is refused at the boundary, and how hostile text is made visible."""

import re

# Public ids of operations: URL-safe, bounded, and never looked at as anything but text.
OPERATION_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:~-]{0,127}", re.ASCII)

# Characters that change or hide other text without being seen: controls, bidi marks, zero widths,
# fillers, tags. Line feed and tab are kept; a carriage return is kept only before its line feed.
_INVISIBLE = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    "\u200b-\u200f\u2028-\u202e\u2060-\u206f\u2800\u3164\ud800-\udfff\ufeff\uffa0\ufff9-\ufffb"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]|\r(?!\n)"
)
_SURROGATE = re.compile("[\ud800-\udfff]")


class TextError(ValueError):
    """Text that cannot be stored on every engine; `code` says why."""

    def __init__(self, code: str) -> None:
        self.code = code
        super().__init__(code)


def check_text(value: str) -> str:
    """Return the text unchanged, or raise TextError with code `text_nul` or `text_surrogate`."""
    if "\x00" in value:
        raise TextError("text_nul")
    if _SURROGATE.search(value):
        raise TextError("text_surrogate")
    return value


def is_operation_id(value: str) -> bool:
    """Tell whether the text has the shape of an operation's public id."""
    return OPERATION_ID.fullmatch(value) is not None


def visible(value: str) -> str:
    r"""Spell out invisible and direction-changing characters, as in `\u202e`; line feeds and tabs stay."""
    if value.isascii() and value.isprintable():  # nearly all there is, and told at once
        return value
    return _INVISIBLE.sub(lambda found: _escape(found.group()), value)


def without_invisible(value: str) -> str:
    """Drop the characters that nobody sees, to judge how much a text really says."""
    return _INVISIBLE.sub("", value)


def _escape(character: str) -> str:
    digits = f"{ord(character):04x}"
    return f"\\u{digits}" if len(digits) == len("0000") else f"\\U{digits:0>8}"
