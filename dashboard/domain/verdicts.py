"""What a probe says about one operation, and the comparison of expected with actual fields."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from enum import StrEnum

MAX_DEPTH = 64


class Verdict(StrEnum):
    """What a probe, compared with the expectation, says."""

    ABSENT = "absent"
    CORRECT = "correct"
    DIVERGENT = "divergent"
    AMBIGUOUS = "ambiguous"
    NOT_APPLICABLE = "not_applicable"


@dataclass(frozen=True)
class Observation:
    """One look at the destination, already compared field by field.

    `as_of` is when the view was true, None when unknown; `sent_at` is when the effect was last sent,
    None when it never was. On a `lagging` destination `missed_at` is an earlier look that found nothing.
    """

    candidates: int
    as_of: datetime | None
    sent_at: datetime | None = None
    visibility_lag: timedelta = timedelta(0)
    cancelled: bool = False
    superseded: bool = False
    failed: bool = False
    partial: bool = False
    differs: bool = False
    authoritative: bool = True
    lagging: bool = False
    missed_at: datetime | None = None


def classify(observation: Observation) -> Verdict:
    """Name the verdict, in this order: not applicable, ambiguous, divergent, correct, absent.

    Absence is the strongest claim. Whatever does not prove it stays ambiguous.
    """
    if observation.cancelled or observation.superseded:
        return Verdict.NOT_APPLICABLE
    if observation.failed or observation.partial or observation.candidates > 1 or _is_old(observation):
        return Verdict.AMBIGUOUS
    if observation.candidates == 1:
        return Verdict.DIVERGENT if observation.differs else Verdict.CORRECT
    return Verdict.ABSENT if _proves_absence(observation) else Verdict.AMBIGUOUS


def _is_old(observation: Observation) -> bool:
    if observation.as_of is None:
        return True
    if observation.sent_at is None:
        return False
    return observation.as_of < observation.sent_at + observation.visibility_lag


def _proves_absence(observation: Observation) -> bool:
    if not observation.authoritative or observation.as_of is None:
        return False
    if not observation.lagging:
        return True
    if observation.missed_at is None:
        return False
    apart = observation.as_of - observation.missed_at
    return apart > timedelta(0) and apart >= observation.visibility_lag


@dataclass(frozen=True)
class FieldDifference:
    """One field side by side; where it was not compared, `compared` and `differs` are False."""

    path: str
    expected: object
    actual: object
    differs: bool
    compared: bool = True


def compare_fields(expected: Mapping[str, object], actual: Mapping[str, object] | None) -> tuple[FieldDifference, ...]:
    """Set expected beside actual by dotted path: the expected fields first, then those that only the actual has.

    Numbers are compared as exact decimals, also when written as text ("10" equals "10.0"). A missing
    field and null are the same. Nothing is compared where there is no actual at all (None).
    """
    wanted = dict(_leaves(expected))
    if actual is None:
        return tuple(
            FieldDifference(path, value, None, differs=False, compared=False) for path, value in wanted.items()
        )
    seen = dict(_leaves(actual))
    compared = tuple(
        FieldDifference(path, value, seen.get(path), differs=not same_value(value, seen.get(path)))
        for path, value in wanted.items()
    )
    extra = tuple(
        FieldDifference(path, None, value, differs=False, compared=False)
        for path, value in seen.items()
        if path not in wanted
    )
    return compared + extra


def same_value(one: object, other: object) -> bool:
    """Tell whether two JSON values mean the same: numbers by value, everything else by type and value."""
    numbers = _number(one), _number(other)
    if None not in numbers:
        return numbers[0] == numbers[1]
    return type(one) is type(other) and one == other


# No leading zeros and no exponent: "007" and "1e3" are codes, not amounts.
_PLAIN_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?")


def _number(value: object) -> Decimal | None:
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal | str):
        return None
    if isinstance(value, int):
        return Decimal(value)
    text = str(value)
    if isinstance(value, str) and not _PLAIN_NUMBER.fullmatch(text):
        return None
    number = Decimal(text)
    return number if number.is_finite() else None


def _leaves(value: Mapping[str, object], prefix: str = "", depth: int = 1) -> Iterator[tuple[str, object]]:
    for name, item in value.items():
        yield from _below(item, prefix + _escaped(name), depth)


def _below(item: object, path: str, depth: int) -> Iterator[tuple[str, object]]:
    if depth >= MAX_DEPTH or not item or not isinstance(item, Mapping | list | tuple):
        yield path, item
    elif isinstance(item, Mapping):
        yield from _leaves(item, f"{path}.", depth + 1)
    else:
        for position, inner in enumerate(item):
            yield from _below(inner, f"{path}.{position}", depth + 1)


def _escaped(name: str) -> str:
    # A dot inside a name is no step of the path; without this two fields could share one path.
    return name.replace("\\", "\\\\").replace(".", "\\.")
