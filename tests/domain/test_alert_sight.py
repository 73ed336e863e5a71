"""An alert counts all tenants: who sees only some of them sees none of it, unless it is a token that was let."""

import pytest

from dashboard.domain.alerting import INSTALLATION, may_silence, sight
from dashboard.domain.permissions import TOKEN_PERMISSIONS, Grant, Permission, Role

CHARGE, SHIP = "charge_order", "ship_order"
LET = frozenset({Permission.ALERTS})


@pytest.mark.parametrize(
    ("grants", "seen"),
    [
        ([Grant(Role.SUPPORT)], {CHARGE, SHIP, INSTALLATION}),
        ([Grant(Role.ADMIN)], {INSTALLATION}),
        ([Grant(Role.MANAGER, "shop")], set[str]()),
        ([Grant(Role.OPERATOR, None, CHARGE)], {CHARGE}),
        ([Grant(Role.OPERATOR, "shop", CHARGE), Grant(Role.SUPPORT, None, SHIP)], {SHIP}),
        ([Grant(None, "shop", None, frozenset({Permission.BROWSE}))], set[str]()),
        ([Grant(None, "shop", None, LET)], {CHARGE, SHIP, INSTALLATION}),
        ([Grant(None, "shop", CHARGE, LET)], {CHARGE}),
        ([], set[str]()),
    ],
)
def test_who_sees_which_alerts(grants: list[Grant], seen: set[str]) -> None:
    found = sight(grants)
    assert {subject for subject in (CHARGE, SHIP, INSTALLATION) if found.includes(subject)} == seen


@pytest.mark.parametrize(
    ("grants", "silenced"),
    [
        ([Grant(Role.SUPPORT)], set[str]()),
        ([Grant(Role.OPERATOR)], {CHARGE, SHIP}),
        ([Grant(Role.OPERATOR, None, CHARGE)], {CHARGE}),
        ([Grant(Role.MANAGER, "shop")], set[str]()),
        ([Grant(Role.MANAGER)], {CHARGE, SHIP, INSTALLATION}),
        ([Grant(Role.MANAGER, None, CHARGE)], {CHARGE}),
        ([Grant(Role.ADMIN)], {INSTALLATION}),
        ([Grant(None, "shop", None, TOKEN_PERMISSIONS)], set[str]()),
    ],
)
def test_who_silences_which_alerts(grants: list[Grant], silenced: set[str]) -> None:
    assert {subject for subject in (CHARGE, SHIP, INSTALLATION) if may_silence(grants, subject)} == silenced
