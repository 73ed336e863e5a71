"""Which groups of the identity provider give which roles: a file of TOML, read once at the start.

    [[groups]]
    group = "ops-support-acme"
    role = "support"
    tenant = "acme"          # without it, for all
    type = "charge_order"    # without it, for all

A person gets the roles of all groups that the provider names, and nothing else.
"""

import tomllib
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from dashboard.domain.errors import InvalidInputError, Problem
from dashboard.domain.permissions import Grant, Role
from dashboard.services.grant_rows import MAX_SCOPE

Name = Annotated[str, Field(min_length=1, max_length=MAX_SCOPE, pattern=r"^[^\x00]+$")]
FIELD = "DASHBOARD_OIDC_GRANTS"


class GroupGrant(BaseModel):
    """One line of the mapping: a group, compared letter by letter, and the role it gives."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    group: Annotated[str, Field(min_length=1, max_length=255)]
    role: Role
    tenant: Name | None = None
    type: Name | None = None


class _File(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    groups: Annotated[tuple[GroupGrant, ...], Field(min_length=1)]


def load_group_grants(path: Path) -> tuple[GroupGrant, ...]:
    """Read the mapping; raises InvalidInputError with one Problem for each key that is wrong."""
    try:
        found = tomllib.loads(path.read_text(encoding="utf-8"))
        return _File.model_validate(found).groups
    except ValidationError as error:
        raise InvalidInputError(tuple(_problem(dict(each)) for each in error.errors(include_url=False))) from error
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise InvalidInputError((Problem(FIELD, "groups_unreadable", {"reason": str(error)}),)) from error


def grants_for(groups: Collection[str], mapping: Sequence[GroupGrant]) -> tuple[Grant, ...]:
    """Give the roles of these groups in the order of the file, each once."""
    found = (Grant(each.role, each.tenant, each.type) for each in mapping if each.group in groups)
    return tuple(dict.fromkeys(found))


def _problem(found: dict[str, object]) -> Problem:
    path = ".".join(str(part) for part in found["loc"])  # type: ignore[attr-defined]
    return Problem(f"{FIELD} {path}", "groups_invalid", {"reason": found["msg"]})
