"""The reviewed policy file: read whole and checked, kept by the hash of its bytes.

`load_policies` gives the policies in force, or one problem a key path; `remember` keeps a version that was never
seen before and says so in the audit log.
"""

import hashlib
import os
import tomllib
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from dashboard.domain.errors import InvalidInputError, Problem
from dashboard.domain.policy import Policies
from dashboard.services import policy_building
from dashboard.services.policy_file import PolicyFile
from dashboard.services.policy_problems import located, problems_of
from dashboard.services.policy_rules import broken_rules

__all__ = ["Policies", "load_policies", "read_file", "read_policies"]


def load_policies(path: Path | None, *, environment: Mapping[str, str] = os.environ) -> Policies:
    """Read a policy file; raises InvalidInputError with one problem a key path.

    Secrets stay in the environment: one that is missing is found by `policy check`, and when it is needed.
    """
    if path is None:
        return Policies()
    content = path.read_bytes()
    return read_policies(content, environment=environment)


def read_policies(content: bytes, *, environment: Mapping[str, str]) -> Policies:
    """Read the bytes of a policy file; raises InvalidInputError with one problem a key path."""
    text = _text(content)
    file = read_file(text)
    if problems := broken_rules(file, environment):
        raise InvalidInputError(located(problems, text))
    return Policies(
        hash=hashlib.sha256(content).hexdigest(),
        text=text,
        types=policy_building.type_policies(file),
        destinations=policy_building.destinations(file, environment),
        sinks=policy_building.sinks(file, environment),
        defaults=policy_building.default_policy(file),
    )


def read_file(text: str) -> PolicyFile:
    """Read the tables of a policy file, each key checked by itself; raises InvalidInputError."""
    document = _document(text)
    keys: dict[int, tuple[str, ...]] = {}
    try:
        return PolicyFile.model_validate(document, context=keys)
    except ValidationError as error:
        raise InvalidInputError(located(problems_of(error, document, keys), text)) from error


def _text(content: bytes) -> str:
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise InvalidInputError((Problem("policies", "policy_unreadable", {"reason": "it is not UTF-8"}),)) from error


def _document(text: str) -> dict[str, Any]:
    try:
        # Decimal, because an amount must not lose a digit.
        return tomllib.loads(text, parse_float=Decimal)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise InvalidInputError((Problem("policies", "policy_unreadable", {"reason": str(error)}),)) from error
