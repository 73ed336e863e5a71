"""How a policy file says how to ask, and which fields to compare."""

from decimal import Decimal
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, StrictBool, StrictInt, ValidationInfo, field_validator

from dashboard.domain.policy import FieldKind
from dashboard.services.policy_values import (
    Entry,
    Expression,
    Name,
    Query,
    Table,
    Template,
    Variable,
    read_decimal,
    read_duration,
    refuse,
)

NUMERIC = (FieldKind.INTEGER, FieldKind.DECIMAL)


class Probe(Table):
    """What all kinds share: JMESPath into a candidate, except `as_of`, which looks into the whole answer."""

    remote_id: Expression | None = None
    cancelled: Expression | None = None
    superseded: Expression | None = None


class AskingProbe(Probe):
    """What the kinds share that ask: when the answer was true, whether it is whole, whether absence can be believed."""

    as_of: Expression | None = None
    partial: Expression | None = None
    authoritative: StrictBool = True


class HttpProbe(AskingProbe):
    """A GET of a path below the destination's base_url."""

    kind: Literal["http"]
    path: Template
    method: Literal["GET"] = "GET"
    items: Expression | None = None
    match: Expression | None = None
    missing_status: tuple[Annotated[StrictInt, Field(ge=400, le=499)], ...] = ()


class SqlProbe(AskingProbe):
    """A reading query with named binds on a database whose URL is in the environment; each row is a candidate."""

    kind: Literal["sql"]
    connection: Variable
    query: Query


class PythonProbe(AskingProbe):
    """A function of the host, named as `module:function`."""

    kind: Literal["python"]
    entry: Entry


class FileProbe(Probe):
    """The lines of imported result files; where these name everything, a missing line proves absence."""

    kind: Literal["file"]
    authoritative: StrictBool = False


class ReceiptProbe(Probe):
    """The signed acknowledgements received; that none came proves nothing."""

    kind: Literal["receipt"]


AnyProbe = Annotated[HttpProbe | SqlProbe | PythonProbe | FileProbe | ReceiptProbe, Field(discriminator="kind")]


def _distance(given: Any, info: ValidationInfo) -> Decimal | None:
    kind = info.data.get("kind", FieldKind.TEXT)
    if given is None:
        return None
    if kind is FieldKind.TIME:
        return Decimal(int(read_duration(given).total_seconds()))
    if kind not in NUMERIC:
        raise refuse("tolerance_not_numeric", kind=str(kind), allowed=(*NUMERIC, FieldKind.TIME))
    if (number := read_decimal(given)) < 0:
        raise refuse("tolerance_negative", value=str(number))
    return number


class Compared(Table):
    """One field to compare; the tolerance is a number, or a duration where the kind is `time`."""

    field: Name
    expected: Expression
    actual: Expression
    kind: FieldKind = FieldKind.TEXT
    tolerance: Any = None

    @field_validator("tolerance", mode="before")
    @classmethod
    def _tolerance(cls, given: Any, info: ValidationInfo) -> Decimal | None:
        return _distance(given, info)


def _named_once(fields: tuple[Compared, ...]) -> tuple[Compared, ...]:
    names = [compared.field for compared in fields]
    for name in names:
        if names.count(name) > 1:
            raise refuse("compared_twice", value=name)
    return fields


Comparisons = Annotated[tuple[Compared, ...], AfterValidator(_named_once)]
