"""JMESPath over JSON whose numbers are exact (https://jmespath.org/specification.html)."""

from decimal import Decimal
from typing import Any

import jmespath
from jmespath.exceptions import JMESPathError
from jmespath.functions import Functions


class ExpressionError(ValueError):
    """An expression cannot be applied to what the destination answered."""


class ExactNumber(Decimal):
    """A number with a fraction, exact; what JSON calls a number and jmespath a float."""


# jmespath tells types apart by their name.
ExactNumber.__name__ = "float"


class _ExactFunctions(Functions):
    def call_function(self, function_name: str, resolved_args: Any) -> Any:
        if function_name == "to_string" and isinstance(resolved_args[0], Decimal):
            return str(resolved_args[0])
        return super().call_function(function_name, resolved_args)


_OPTIONS = jmespath.Options(custom_functions=_ExactFunctions())


def find(expression: str, value: object) -> Any:
    """What the expression finds in the value, None where it finds nothing; ExpressionError where it fails."""
    try:
        return jmespath.search(expression, value, options=_OPTIONS)
    except (JMESPathError, ArithmeticError, TypeError, ValueError) as error:
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise ExpressionError(reason) from error


def holds(expression: str | None, value: object) -> bool:
    """Whether the expression is true of the value; false where there is no expression."""
    return expression is not None and find(expression, value) is True
