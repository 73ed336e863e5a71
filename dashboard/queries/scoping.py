"""Grants as an SQL condition: what lies outside them does not exist for the person."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import ColumnElement, and_, false, or_, true
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.orm import InstrumentedAttribute
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement

from dashboard.domain.permissions import Scope
from dashboard.models import Operation

Column = InstrumentedAttribute[Any] | ColumnElement[Any]


class narrowing(FunctionElement[Any]):  # noqa: N801 - it is written like a function of SQL
    """A column that only narrows what another index has found; on engines with statistics the column itself."""

    inherit_cache = True

    def __init__(self, column: InstrumentedAttribute[Any]) -> None:
        super().__init__(column)
        self.type = column.type


@compiles(narrowing)
def _as_it_is(element: narrowing, compiler: SQLCompiler, **options: Any) -> str:
    return compiler.process(element.clauses, **options)


@compiles(narrowing, "sqlite")
def _hidden(element: narrowing, compiler: SQLCompiler, **options: Any) -> str:
    # https://www.sqlite.org/optoverview.html#disqualifying_where_clause_terms_using_unary_
    return f"+{compiler.process(element.clauses, **options)}"


def by_its_index(column: InstrumentedAttribute[Any]) -> ColumnElement[Any]:
    """The column itself: the opposite of `narrowing`."""
    return column.expression


def in_scope(
    scopes: Sequence[Scope],
    *,
    tenant: Column = Operation.tenant,
    type: Column = Operation.type,  # noqa: A002
) -> ColumnElement[bool]:
    """A condition that holds for the rows of these scopes, and for none where there is no scope."""
    if any(scope.tenant is None and scope.type is None for scope in scopes):
        return true()
    tenants = sorted({scope.tenant for scope in scopes if scope.tenant is not None and scope.type is None})
    types = sorted({scope.type for scope in scopes if scope.type is not None and scope.tenant is None})
    parts: list[ColumnElement[bool]] = []
    if tenants:
        parts.append(tenant.in_(tenants))
    if types:
        parts.append(type.in_(types))
    parts += [
        and_(tenant == scope.tenant, type == scope.type)
        for scope in scopes
        if scope.tenant is not None and scope.type is not None
    ]
    return or_(*parts) if parts else false()
