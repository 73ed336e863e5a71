"""A change of grants is told by what it lets a person do, not by the names of roles."""

from dashboard.domain.grant_effects import Change, Effect, effects_of
from dashboard.domain.permissions import ROLE_PERMISSIONS, Grant, Permission, Role, Scope

EVERYWHERE, ACME = Scope(None, None), Scope("acme", None)


def test_a_first_role_gives_all_it_allows() -> None:
    change = effects_of([], [Grant(Role.SUPPORT, "acme")])
    (gained,) = change.gained
    assert gained.scope == ACME
    assert set(gained.permissions) == ROLE_PERMISSIONS[Role.SUPPORT]
    assert change.lost == ()


def test_a_role_that_another_covers_changes_nothing() -> None:
    wide, narrow = Grant(Role.MANAGER), Grant(Role.SUPPORT, "acme")
    assert effects_of([wide], [wide, narrow]) == effects_of([wide, narrow], [wide]) == Change((), ())


def test_a_higher_role_gains_only_what_is_new() -> None:
    support, operator = Grant(Role.SUPPORT, "acme"), Grant(Role.OPERATOR, "acme")
    new = (Permission.EXECUTE, Permission.APPROVE, Permission.REVEAL, Permission.SILENCE)
    assert effects_of([support], [support, operator]).gained == (Effect(ACME, new),)


def test_taking_the_wide_role_leaves_the_narrow_one() -> None:
    change = effects_of([Grant(Role.SUPPORT), Grant(Role.SUPPORT, "acme")], [Grant(Role.SUPPORT, "acme")])
    assert change.gained == ()
    assert [effect.scope for effect in change.lost] == [EVERYWHERE]
