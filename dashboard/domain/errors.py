"""Errors of the domain: each carries a stable code and details; the edges turn them into statuses and words."""

import dataclasses
from collections.abc import Iterable, Mapping
from typing import ClassVar


class OperationsError(Exception):
    """Anything the product refuses; `code` is stable, `details` holds what the words need."""

    default_code: ClassVar[str] = "operations_error"

    def __init__(self, code: str | None = None, /, **details: object) -> None:
        self.code = code or self.default_code
        self.details: dict[str, object] = details
        super().__init__(self.code)

    def __str__(self) -> str:
        told = ", ".join(f"{name}={value}" for name, value in self.details.items())
        return f"{self.code} ({told})" if told else self.code


class NotFoundError(OperationsError):
    """It does not exist, or not for this person: the two are never told apart."""

    default_code = "not_found"


class NotAllowedError(OperationsError):
    """The person may see it but lacks the permission named in `details`."""

    default_code = "not_allowed"


class LostRaceError(OperationsError):
    """Somebody else changed the row first; nothing was overwritten."""

    default_code = "changed_meanwhile"


class ConflictError(OperationsError):
    """Something stands in the way as things are; `code` says what, and the words say how to get past it."""

    default_code = "conflict"


class TransitionError(OperationsError):
    """The transition table has no such way; `target` is None where no single target exists."""

    default_code = "transition_not_allowed"

    def __init__(self, *, source: str, target: str | None, trigger: str) -> None:
        self.source = source
        self.target = target
        self.trigger = trigger
        super().__init__(source=source, target=target, trigger=trigger)


@dataclasses.dataclass(frozen=True)
class Problem:
    """One bad field of an input; words are made at the edges from `code` and `details`."""

    field: str
    code: str
    details: Mapping[str, object] = dataclasses.field(default_factory=dict, hash=False)


class InvalidInputError(OperationsError):
    """The input breaks rules: one Problem per bad field, in the order of the form."""

    default_code = "invalid_input"

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__(fields=tuple(problem.field for problem in self.problems))
