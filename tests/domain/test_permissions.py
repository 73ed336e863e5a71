"""Roles give permissions; what is listed is exactly what may be opened."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboard.domain.actions import ActionName
from dashboard.domain.permissions import (
    ACTION_PERMISSION,
    TOKEN_PERMISSIONS,
    Grant,
    Permission,
    Role,
    Scope,
    allows,
    holds,
    scopes,
)

tenants = st.sampled_from(["loja", "shop", "tienda"])
types = st.sampled_from(["charge", "refund", "sync"])
permissions = st.sampled_from(Permission)
of_people = st.builds(Grant, st.sampled_from(Role), st.none() | tenants, st.none() | types)
of_tokens = st.builds(Grant, st.none(), tenants, st.none() | types, st.frozensets(permissions))
grant_lists = st.lists(of_people | of_tokens, max_size=8)

# The table of design section 9, written out a second time on purpose: S, O, M, A.
DESIGN = {
    "browse": "SOM", "note": "SOM", "claim": "SOM", "check": "SOM", "escalate": "SOM", "propose": "SOM",
    "execute": "OM", "approve": "OM", "approve_above_limit": "M", "override": "M", "reopen": "M", "reveal": "OM",
    "audit_own": "SOMA", "audit_scope": "MA", "audit_all": "A", "export": "SOMA", "administer": "A",
    "register": "", "work": "", "reserve": "", "alerts": "SOMA", "silence": "OMA", "silence_installation": "MA",
}  # fmt: skip


@pytest.mark.parametrize("permission", Permission)
def test_each_permission_belongs_to_the_designed_roles(permission: Permission) -> None:
    having = "".join(role.value[0].upper() for role in Role if holds([Grant(role)], permission))
    assert having == DESIGN[permission]


def test_every_action_needs_a_permission() -> None:
    assert set(ACTION_PERMISSION) == set(ActionName)


@pytest.mark.parametrize(
    ("grant", "reached"),
    [
        (Grant(Role.OPERATOR), "loja charge, loja sync, shop charge, shop sync"),
        (Grant(Role.OPERATOR, "shop"), "shop charge, shop sync"),
        (Grant(Role.OPERATOR, None, "charge"), "loja charge, shop charge"),
        (Grant(Role.OPERATOR, "shop", "charge"), "shop charge"),
        (Grant(Role.SUPPORT), ""),
    ],
)
def test_a_grant_reaches_its_tenant_and_type_and_no_other(grant: Grant, reached: str) -> None:
    everywhere = [("loja", "charge"), ("loja", "sync"), ("shop", "charge"), ("shop", "sync")]
    found = [place for place in everywhere if allows([grant], Permission.EXECUTE, tenant=place[0], type=place[1])]
    assert ", ".join(f"{tenant} {kind}" for tenant, kind in found) == reached


def test_two_grants_do_not_lend_each_other_their_scope() -> None:
    grants = [Grant(Role.OPERATOR, "shop"), Grant(Role.SUPPORT, "loja")]
    assert not allows(grants, Permission.EXECUTE, tenant="loja", type="charge")


@given(grant_lists, permissions, tenants, types)
def test_scopes_include_exactly_what_is_allowed(
    grants: list[Grant], permission: Permission, tenant: str, kind: str
) -> None:
    listed = any(scope.includes(tenant=tenant, type=kind) for scope in scopes(grants, permission))
    assert listed == allows(grants, permission, tenant=tenant, type=kind)


@given(grant_lists, permissions)
def test_a_permission_is_held_where_it_has_a_scope(grants: list[Grant], permission: Permission) -> None:
    assert holds(grants, permission) == bool(scopes(grants, permission))


@given(grant_lists, permissions)
def test_no_scope_covers_another(grants: list[Grant], permission: Permission) -> None:
    found = scopes(grants, permission)
    assert not [(one, other) for one in found for other in found if one != other and one.covers(other)]


@given(grant_lists, permissions)
def test_the_order_of_grants_does_not_matter(grants: list[Grant], permission: Permission) -> None:
    assert scopes(grants, permission) == scopes([*reversed(grants), *grants], permission)


def test_a_token_has_what_it_was_given_and_no_more() -> None:
    token = [Grant(None, "shop", None, frozenset({Permission.REGISTER}))]
    assert [permission for permission in Permission if holds(token, permission)] == [Permission.REGISTER]
    assert not allows(token, Permission.REGISTER, tenant="loja", type="charge")


def test_no_token_hands_out_rights_or_overrides() -> None:
    assert frozenset(Permission) - TOKEN_PERMISSIONS == {
        Permission.ADMINISTER,
        Permission.APPROVE_ABOVE_LIMIT,
        Permission.AUDIT_ALL,
        Permission.OVERRIDE,
        Permission.REVEAL,
        Permission.SILENCE,
        Permission.SILENCE_INSTALLATION,
    }


@given(grant_lists, of_people | of_tokens, permissions, tenants, types)
def test_another_grant_never_takes_away(
    grants: list[Grant], more: Grant, permission: Permission, tenant: str, kind: str
) -> None:
    if allows(grants, permission, tenant=tenant, type=kind):
        assert allows([*grants, more], permission, tenant=tenant, type=kind)


def test_an_administrator_sees_no_operation() -> None:
    assert scopes([Grant(Role.ADMIN)], Permission.BROWSE) == ()


def test_everything_covers_a_single_tenant() -> None:
    grants = [Grant(Role.SUPPORT, "shop", "charge"), Grant(Role.OPERATOR, "shop"), Grant(Role.MANAGER, None, "sync")]
    assert scopes(grants, Permission.BROWSE) == (Scope(None, "sync"), Scope("shop", None))
    assert scopes(grants, Permission.REOPEN) == (Scope(None, "sync"),)
