"""Passwords: what is accepted, how they are kept, and a check that costs the same for people who do not exist."""

import unicodedata
from functools import cache

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from dashboard.domain.errors import Problem
from dashboard.domain.text import TextError, check_text

MIN_PASSWORD = 12
MAX_PASSWORD = 256

# argon2id with the parameters of the OWASP Password Storage Cheat Sheet: 19 MiB, two passes, one lane.
_HASHER = PasswordHasher(time_cost=2, memory_cost=19456, parallelism=1)


def check_password(password: str, *, email: str, field: str = "password") -> tuple[Problem, ...]:
    """Say what is wrong with a new password; nothing if it may be used.

    Length is what counts (NIST SP 800-63B 5.1.1.2): no rules about kinds of characters.
    """
    try:
        check_text(password)
    except TextError as error:
        return (Problem(field, error.code),)
    if len(password) < MIN_PASSWORD:
        return (Problem(field, "password_too_short", {"minimum": MIN_PASSWORD}),)
    if len(password) > MAX_PASSWORD:
        return (Problem(field, "password_too_long", {"maximum": MAX_PASSWORD}),)
    if password.casefold() == email.casefold() or len(set(password)) == 1:
        return (Problem(field, "password_too_simple"),)
    return ()


def hash_password(password: str) -> str:
    """Give the text to keep instead of the password."""
    return _HASHER.hash(_as_typed(password))


def matches(password: str, *, kept: str | None) -> bool:
    """Tell whether this is the password; without a hash it takes as long and is never."""
    try:
        _HASHER.verify(kept or _nobody(), _as_typed(password))
    except (VerificationError, InvalidHashError):
        return False
    return bool(kept)


def is_outdated(kept: str) -> bool:
    """Tell whether the hash was made with other parameters than today's."""
    return _HASHER.check_needs_rehash(kept)


def _as_typed(password: str) -> bytes:
    # Two keyboards may send the same letter as one character or as two.
    return unicodedata.normalize("NFKC", password).encode("utf-8", "surrogatepass")


@cache
def _nobody() -> str:
    return _HASHER.hash("nobody has this password")
