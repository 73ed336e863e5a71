"""What the reviewed policy file says of an operation type, as far as people's decisions need it."""

import hashlib
import tomllib
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError

from dashboard.domain.errors import InvalidInputError, Problem

UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}


def parse_duration(text: object) -> timedelta:
    """A duration written as whole number and unit: `30s`, `5m`, `2h`, `400d`; raises ValueError on all else."""
    if isinstance(text, timedelta):
        return text
    if not isinstance(text, str) or text[-1:] not in UNITS or not text[:-1].isascii() or not text[:-1].isdigit():
        raise ValueError("must be a whole number and a unit, such as 30s, 5m, 2h or 400d")
    return timedelta(**{UNITS[text[-1]]: int(text[:-1])})


Duration = Annotated[timedelta, BeforeValidator(parse_duration)]


class Destination(BaseModel):
    """An outside system; whether a second request with the same key makes a second effect."""

    model_config = ConfigDict(frozen=True)

    honours_idempotency_key: bool = False


class Defaults(BaseModel):
    """What holds where a type says nothing."""

    model_config = ConfigDict(frozen=True)

    deadline: Duration = timedelta(hours=24)
    freshness: Duration = timedelta(minutes=10)
    redact: tuple[str, ...] = ()


class TypePolicy(BaseModel):
    """The rules of one operation type."""

    model_config = ConfigDict(frozen=True)

    description: str = ""
    expected_effect: str = ""
    destination: str = ""
    source_of_truth: str = "destination"
    financial: bool = False
    deadline: Duration | None = None
    freshness: Duration | None = None
    compensation: str | None = None


class _PolicyFile(BaseModel):
    destinations: dict[str, Destination] = {}
    defaults: Defaults = Defaults()
    types: dict[str, TypePolicy] = {}


@dataclass(frozen=True)
class Policies:
    """One version of the policy file, named by the SHA-256 of its bytes; without a file, the defaults."""

    hash: str | None = None
    destinations: dict[str, Destination] = field(default_factory=dict)
    defaults: Defaults = field(default_factory=Defaults)
    types: dict[str, TypePolicy] = field(default_factory=dict)

    def of(self, operation_type: str) -> TypePolicy:
        """The policy of a type; an empty one where the file does not name it."""
        return self.types.get(operation_type, TypePolicy())

    def compensation_of(self, operation_type: str) -> str | None:
        """The type that undoes this one, or None where policy names none."""
        return self.of(operation_type).compensation

    def honours_key(self, destination: str) -> bool | None:
        """Whether the destination makes one effect of two equal requests; None where nobody wrote it down."""
        known = self.destinations.get(destination)
        return known.honours_idempotency_key if known else None

    def deadline_of(self, operation_type: str) -> timedelta:
        """How long an operation of this type may stay open before it counts as overdue."""
        return self.of(operation_type).deadline or self.defaults.deadline

    def freshness_of(self, operation_type: str) -> timedelta:
        """How old a verdict may be and still count as proof."""
        return self.of(operation_type).freshness or self.defaults.freshness


def load_policies(path: Path | None) -> Policies:
    """Read a policy file; raises InvalidInputError with one problem a key path."""
    if path is None:
        return Policies()
    content = path.read_bytes()
    try:
        parsed = _PolicyFile.model_validate(tomllib.loads(content.decode()))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InvalidInputError((Problem(str(path), "policy_unreadable", {"reason": str(error)}),)) from error
    except ValidationError as error:
        raise InvalidInputError(tuple(_problems(error))) from error
    _refuse_unknown_compensations(parsed.types)
    return Policies(
        hash=hashlib.sha256(content).hexdigest(),
        destinations=parsed.destinations,
        defaults=parsed.defaults,
        types=parsed.types,
    )


def _problems(error: ValidationError) -> list[Problem]:
    return [
        Problem(
            ".".join(str(part) for part in found["loc"]),
            "policy_invalid",
            {"reason": found["msg"].removeprefix("Value error, ")},
        )
        for found in error.errors(include_input=False, include_url=False)
    ]


def _refuse_unknown_compensations(types: dict[str, TypePolicy]) -> None:
    problems = tuple(
        Problem(f"types.{name}.compensation", "policy_invalid", {"reason": f"no type {policy.compensation}"})
        for name, policy in types.items()
        if policy.compensation and policy.compensation not in types
    )
    if problems:
        raise InvalidInputError(problems)
