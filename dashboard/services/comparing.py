"""Comparing what is expected with what the destination shows, field by field as policy names them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation

from dashboard.adapters.expressions import ExpressionError, find
from dashboard.adapters.probes.reading import read_moment
from dashboard.domain.policy import Comparison, FieldKind
from dashboard.domain.verdicts import FieldDifference


@dataclass(frozen=True)
class Compared:
    """Each named field side by side; `incomparable` says why that could not be done for all of them."""

    fields: tuple[FieldDifference, ...] = ()
    incomparable: str | None = None

    @property
    def differs(self) -> bool:
        """Whether any field is further from what is expected than its tolerance."""
        return any(field.differs for field in self.fields)

    def actual(self) -> dict[str, object]:
        """What the destination shows, under the names of policy."""
        return {field.path: field.actual for field in self.fields}


def compare(
    rules: Sequence[Comparison], *, expected: Mapping[str, object], candidate: Mapping[str, object]
) -> Compared:
    """Compare the fields of a policy; a field the destination does not show differs, an unexpected one is a doubt."""
    try:
        fields = tuple(_compare_field(rule, expected, candidate) for rule in rules)
    except ExpressionError as error:
        return Compared(incomparable=str(error))
    unexpected = [field.path for field in fields if not field.compared]
    told = f"The operation does not say what to expect of {', '.join(unexpected)}." if unexpected else None
    return Compared(fields, told)


def _compare_field(
    rule: Comparison, expected: Mapping[str, object], candidate: Mapping[str, object]
) -> FieldDifference:
    wanted, seen = find(rule.expected, expected), find(rule.actual, candidate)
    if wanted is None:
        return FieldDifference(rule.field, None, seen, differs=False, compared=False)
    return FieldDifference(rule.field, wanted, seen, differs=not agree(rule, wanted, seen))


def agree(rule: Comparison, wanted: object, seen: object) -> bool:
    """Whether two values mean the same as this kind of field, within its tolerance; what cannot be read never does."""
    tolerance = rule.tolerance or Decimal(0)
    match rule.kind:
        case FieldKind.DECIMAL:
            return _near(_number(wanted), _number(seen), tolerance)
        case FieldKind.INTEGER:
            return _near(_whole(_number(wanted)), _whole(_number(seen)), tolerance)
        case FieldKind.TIME:
            return _near(_moment(wanted), _moment(seen), tolerance)
        case FieldKind.BOOLEAN:
            return _truth(wanted) is not None and _truth(wanted) == _truth(seen)
    return _text(wanted) == _text(seen)


def _near(one: Decimal | None, other: Decimal | None, tolerance: Decimal) -> bool:
    return one is not None and other is not None and abs(one - other) <= tolerance


def _number(value: object) -> Decimal | None:
    if isinstance(value, bool) or not isinstance(value, str | int | float | Decimal):
        return None
    try:
        number = Decimal(repr(value) if isinstance(value, float) else value)
    except InvalidOperation:
        return None
    return number if number.is_finite() else None


def _whole(number: Decimal | None) -> Decimal | None:
    return number if number is not None and number == number.to_integral_value() else None


def _moment(value: object) -> Decimal | None:
    read = read_moment(value)
    return Decimal(str(read.timestamp())) if read else None


def _truth(value: object) -> bool | None:
    if isinstance(value, bool):
        return value
    return {"true": True, "false": False}.get(value.lower()) if isinstance(value, str) else None


def _text(value: object) -> object:
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, int | float | Decimal) else value
