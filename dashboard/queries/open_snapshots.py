"""What the worker counted of open work a little while ago, added up for whoever asks, within their grants.

There is one row a tenant, and one of all of them, so that a look reads what it shows and no more.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from sqlalchemy import case, select
from sqlalchemy.orm import Session

from dashboard.domain.exceptions import Why
from dashboard.domain.permissions import Scope
from dashboard.models import OpenSnapshot
from dashboard.queries.open_ages import Ages, Percentiles
from dashboard.queries.open_work import Cell, Money, OpenWork, Review, added

# With less open work, each look counts it.
OPEN_AT_LEAST = 50_000
# One that is older is shown no longer: whoever takes them has stopped, and each look counts again.
FRESH_FOR = timedelta(minutes=1)
ALL_TENANTS = ""
EVERYWHERE = (Scope(tenant=None, type=None),)


def latest(
    session: Session,
    *,
    scopes: Sequence[Scope],
    now: datetime,
    type: str | None = None,  # noqa: A002 - the word of the design
    tenant: str | None = None,
) -> OpenWork | None:
    """The snapshot within the grants, of one type and one tenant where they are named; None where there is none."""
    # A tenant without a name is none of them: under it are the counts of all.
    wanted = _tenants(scopes) if tenant is None else frozenset({tenant} - {ALL_TENANTS})
    row = OpenSnapshot
    # That of all tenants tells whether there is a snapshot at all; a tenant without open work has no row.
    figures = case((row.tenant.in_(sorted(wanted)), row.figures)).label("figures")
    every = sorted(wanted | {ALL_TENANTS})
    found = {
        each.tenant: each
        for each in session.execute(select(row.tenant, row.taken_at, figures).where(row.tenant.in_(every)))
    }
    if ALL_TENANTS not in found or found[ALL_TENANTS].taken_at < now - FRESH_FOR:
        return None
    taken_at = found[ALL_TENANTS].taken_at
    parts = [
        _seen(read(each.figures, at=taken_at), scopes, name, asked=tenant)
        for name, each in found.items()
        if name in wanted
    ]
    # Percentiles cannot be added up: only who sees all of it sees those that were taken with it.
    if wanted == {ALL_TENANTS} and Scope(tenant=None, type=None) in scopes:
        whole = parts[0]
    else:
        whole = added(parts, now=taken_at, is_snapshot=True)
    return whole if type is None else whole.of_types({type})


def written(work: OpenWork, ages: Ages) -> dict[str, Any]:
    """Counts as a row keeps them."""
    return {
        "cells": [[*each[:5], each.oldest.isoformat()] for each in work.cells],
        "review": [list(each) for each in work.review],
        "money": [[*each[:3], str(each.amount)] for each in work.money],
        "ages": [[name, [_seconds(each) for each in lengths]] for name, lengths in ages.items()],
    }


def read(figures: dict[str, Any], *, at: datetime) -> OpenWork:
    """The counts that a row keeps."""
    return OpenWork(
        at,
        [Cell._make((*each[:5], datetime.fromisoformat(each[5]))) for each in figures["cells"]],
        [Review(name, age, Why(why), size) for name, age, why, size in figures["review"]],
        [Money(name, currency, size, Decimal(amount)) for name, currency, size, amount in figures["money"]],
        is_snapshot=True,
        ages={name: Percentiles(*(_length(each) for each in lengths)) for name, lengths in figures["ages"]},
    )


def _tenants(scopes: Sequence[Scope]) -> frozenset[str]:
    """Whose rows these scopes need: that of all tenants for whoever sees a type of all of them."""
    if any(scope.tenant is None and scope.type is None for scope in scopes):
        return frozenset({ALL_TENANTS})
    return frozenset(scope.tenant or ALL_TENANTS for scope in scopes)


def _seen(work: OpenWork, scopes: Sequence[Scope], tenant: str, *, asked: str | None) -> OpenWork:
    """The part of a row that the scopes show; a type of all tenants is shown from the row of all, and not once more."""
    own = _among(work, [scope for scope in scopes if scope.tenant == tenant])
    everywhere = _among(work, [scope for scope in scopes if scope.tenant is None])
    if asked is not None:
        return work.of_types(own | everywhere)
    return work.of_types(everywhere if tenant == ALL_TENANTS else own - everywhere)


def _among(work: OpenWork, scopes: Sequence[Scope]) -> frozenset[str]:
    return frozenset(name for name in work.types if any(scope.type in (None, name) for scope in scopes))


def _seconds(length: timedelta | None) -> float | None:
    return None if length is None else length.total_seconds()


def _length(seconds: float | None) -> timedelta | None:
    return None if seconds is None else timedelta(seconds=seconds)
