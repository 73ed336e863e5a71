"""Statements that are written once for an engine and then only filled in: for what runs at every request.

The engine's own way looks a statement up and rebuilds its parameters each time, which costs as much as the statement.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from sqlalchemy import Connection, CursorResult
from sqlalchemy.engine import Dialect
from sqlalchemy.sql.dml import UpdateBase


@dataclass(frozen=True)
class _Written:
    """The text for one driver, the values that never change, what fits the others to their columns, and the order."""

    text: str
    fixed: Mapping[str, Any]
    fitted: Mapping[str, Callable[[Any], Any]]
    order: tuple[str, ...] | None


def execute(connection: Connection, statement: UpdateBase, values: Mapping[str, Any]) -> CursorResult[Any]:
    """Execute a statement that is built once in a module; values are checked by the types of their columns."""
    written = _written(statement, connection.dialect)
    filled = {**written.fixed, **values}
    for name, fit in written.fitted.items():
        filled[name] = fit(filled[name])
    if written.order is None:
        return connection.exec_driver_sql(written.text, filled)
    return connection.exec_driver_sql(written.text, tuple(filled[name] for name in written.order))


@lru_cache(maxsize=256)
def _written(statement: UpdateBase, dialect: Dialect) -> _Written:
    compiled: Any = statement.compile(dialect=dialect, compile_kwargs={"render_postcompile": True})
    fixed, fitted = dict(compiled.params), {}
    for name, bound in compiled.binds.items():
        fit = bound.type.dialect_impl(dialect).bind_processor(dialect)
        if fit is None or name not in fixed:
            continue
        if bound.required:
            fitted[name] = fit
        else:
            fixed[name] = fit(fixed[name])
    order = tuple(compiled.positiontup) if compiled.positional else None
    return _Written(compiled.string, fixed, fitted, order)
