"""Grants as an SQL condition: what lies outside them does not exist for the person."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import ColumnElement, and_, false, or_, true
from sqlalchemy.orm import InstrumentedAttribute

from dashboard.domain.permissions import Scope
from dashboard.models import Operation

Column = InstrumentedAttribute[Any]


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
