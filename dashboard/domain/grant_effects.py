"""What a change of a person's grants does: what they may do afterwards and could not before, and the reverse."""

from collections.abc import Iterable
from dataclasses import dataclass

from dashboard.domain.permissions import Grant, Permission, Scope, scopes


@dataclass(frozen=True)
class Effect:
    """Permissions that are gained or lost within one scope, in the order in which the table names them."""

    scope: Scope
    permissions: tuple[Permission, ...]


@dataclass(frozen=True)
class Change:
    """All effects of a change; both empty where it changes nothing."""

    gained: tuple[Effect, ...]
    lost: tuple[Effect, ...]


def effects_of(before: Iterable[Grant], after: Iterable[Grant]) -> Change:
    """Compare what two sets of grants allow."""
    had, has = tuple(before), tuple(after)
    return Change(gained=_beyond(had, has), lost=_beyond(has, had))


def _beyond(less: tuple[Grant, ...], more: tuple[Grant, ...]) -> tuple[Effect, ...]:
    """What the second allows and the first does not."""
    found: dict[Scope, list[Permission]] = {}
    for permission in Permission:
        known = scopes(less, permission)
        for scope in scopes(more, permission):
            if not any(each.covers(scope) for each in known):
                found.setdefault(scope, []).append(permission)
    return tuple(Effect(scope, tuple(permissions)) for scope, permissions in found.items())
