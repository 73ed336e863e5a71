"""Who may do what: roles give permissions, grants bind a role, or what a token may do, to a tenant and a type.

The table is the only source of permissions. Services ask `allows` for one operation and turn
`scopes` into a filter for lists; both always agree, so what is counted is what can be opened.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from types import MappingProxyType

from dashboard.domain.actions import ActionName
from dashboard.domain.states import ActorKind


class Role(StrEnum):
    """The kinds of people who sign in."""

    SUPPORT = "support"
    OPERATOR = "operator"
    MANAGER = "manager"
    ADMIN = "admin"


class Permission(StrEnum):
    """What a role or a token may be allowed to do; only tokens register, work and reserve."""

    BROWSE = "browse"
    NOTE = "note"
    CLAIM = "claim"
    CHECK = "check"
    ESCALATE = "escalate"
    PROPOSE = "propose"
    EXECUTE = "execute"
    APPROVE = "approve"
    APPROVE_ABOVE_LIMIT = "approve_above_limit"
    OVERRIDE = "override"
    REOPEN = "reopen"
    REVEAL = "reveal"
    ALERTS = "alerts"
    SILENCE = "silence"
    SILENCE_INSTALLATION = "silence_installation"
    AUDIT_OWN = "audit_own"
    AUDIT_SCOPE = "audit_scope"
    AUDIT_ALL = "audit_all"
    EXPORT = "export"
    ADMINISTER = "administer"
    REGISTER = "register"
    WORK = "work"
    RESERVE = "reserve"


_SUPPORT = frozenset(
    {
        Permission.BROWSE,
        Permission.NOTE,
        Permission.CLAIM,
        Permission.CHECK,
        Permission.ESCALATE,
        Permission.PROPOSE,
        Permission.ALERTS,
        Permission.AUDIT_OWN,
        Permission.EXPORT,
    }
)
_OPERATOR = _SUPPORT | {Permission.EXECUTE, Permission.APPROVE, Permission.REVEAL, Permission.SILENCE}
_MANAGER = _OPERATOR | {
    Permission.APPROVE_ABOVE_LIMIT,
    Permission.OVERRIDE,
    Permission.REOPEN,
    Permission.AUDIT_SCOPE,
    Permission.SILENCE_INSTALLATION,
}
# Separation of duties: who hands out grants neither sees operations nor proposes, executes or approves.
_ADMIN = frozenset(
    {
        Permission.AUDIT_OWN,
        Permission.AUDIT_SCOPE,
        Permission.AUDIT_ALL,
        Permission.EXPORT,
        Permission.ADMINISTER,
        Permission.ALERTS,
        Permission.SILENCE,
        Permission.SILENCE_INSTALLATION,
    }
)

ROLE_PERMISSIONS: Mapping[Role, frozenset[Permission]] = MappingProxyType(
    {
        Role.SUPPORT: _SUPPORT,
        Role.OPERATOR: _OPERATOR,
        Role.MANAGER: _MANAGER,
        Role.ADMIN: _ADMIN,
    }
)

# Handing out rights, and what needs the judgement of a certain person, is never done by a program.
TOKEN_PERMISSIONS: frozenset[Permission] = frozenset(Permission) - {
    Permission.ADMINISTER,
    Permission.APPROVE_ABOVE_LIMIT,
    Permission.AUDIT_ALL,
    Permission.OVERRIDE,
    Permission.REVEAL,
    Permission.SILENCE,
    Permission.SILENCE_INSTALLATION,
}

ACTION_PERMISSION: Mapping[ActionName, Permission] = MappingProxyType(
    {
        ActionName.REQUEUE: Permission.EXECUTE,
        ActionName.COMPENSATE: Permission.EXECUTE,
        ActionName.CLOSE: Permission.EXECUTE,
        ActionName.CONFIRM: Permission.EXECUTE,
        ActionName.ESCALATE: Permission.ESCALATE,
        ActionName.REOPEN: Permission.REOPEN,
    }
)


@dataclass(frozen=True)
class Scope:
    """A part of all operations: one tenant or all (None), one type or all (None)."""

    tenant: str | None
    type: str | None

    def includes(self, *, tenant: str, type: str) -> bool:  # noqa: A002 - the word of the design
        """Tell whether an operation of this tenant and type lies inside."""
        return self.tenant in (None, tenant) and self.type in (None, type)

    def covers(self, other: "Scope") -> bool:
        """Tell whether everything inside the other scope lies inside this one."""
        return self.tenant in (None, other.tenant) and self.type in (None, other.type)


@dataclass(frozen=True)
class Grant:
    """A role of a person, or the permissions of a token, for one tenant or all (None), one type or all (None).

    A token has no role, and a person has no permissions but those of the role.
    """

    role: Role | None
    tenant: str | None = None
    type: str | None = None
    permissions: frozenset[Permission] = frozenset()

    @property
    def scope(self) -> Scope:
        """The operations this grant is about."""
        return Scope(self.tenant, self.type)

    def gives(self, permission: Permission) -> bool:
        """Tell whether the permission is among what is granted, whatever the scope."""
        return permission in (self.permissions if self.role is None else ROLE_PERMISSIONS[self.role])


@dataclass(frozen=True)
class Actor:
    """Who asks: `id` is the e-mail of a person or the name of a token, worker or command."""

    kind: ActorKind
    id: str
    grants: tuple[Grant, ...] = ()
    address: str | None = None
    request_id: str | None = None

    @property
    def bare(self) -> "Actor":
        """Who it is and what they may, without where this request came from."""
        return replace(self, address=None, request_id=None)


def holds(grants: Iterable[Grant], permission: Permission) -> bool:
    """Tell whether any grant gives the permission anywhere."""
    return any(grant.gives(permission) for grant in grants)


def allows(grants: Iterable[Grant], permission: Permission, *, tenant: str, type: str) -> bool:  # noqa: A002
    """Tell whether a grant gives the permission for operations of this tenant and type."""
    return any(grant.gives(permission) and grant.scope.includes(tenant=tenant, type=type) for grant in grants)


def scopes(grants: Iterable[Grant], permission: Permission) -> tuple[Scope, ...]:
    """Return where the permission holds, sorted and without scopes that another one covers."""
    found = {grant.scope for grant in grants if grant.gives(permission)}
    kept = [scope for scope in found if not any(other.covers(scope) for other in found - {scope})]
    return tuple(sorted(kept, key=_scope_order))


def _scope_order(scope: Scope) -> tuple[bool, str, bool, str]:
    return (scope.tenant is not None, scope.tenant or "", scope.type is not None, scope.type or "")
