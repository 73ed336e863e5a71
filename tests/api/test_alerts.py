"""Alerts over the API: what fires, for whom, and whether anybody looks."""

from datetime import UTC, datetime

import pytest

from dashboard.db import Database
from dashboard.domain.permissions import Permission
from tests.alerting import HOUR, add_alerts, add_silence, evaluated
from tests.api.conftest import Enter
from tests.web.lists import statements

RELAY = {"rule": "relay", "subject": "", "figure": "5400", "threshold": "900", "cause": "away", "about": "hook\u202e"}


def test_what_is_not_over_is_told_with_what_to_do(program: Enter, database: Database) -> None:
    add_alerts(database, RELAY, {"state": "pending"}, {"state": "resolved"})
    add_silence(database)
    evaluated(database)
    found = program(Permission.ALERTS).get("/alerts").json
    assert [(each["rule"], each["type"], each["state"]) for each in found["items"]] == [
        ("relay", None, "firing"),
        ("accumulation", "charge_order", "pending"),
    ]
    relay, accumulation = found["items"]
    assert relay["summary"] == "The sink hook\\u202e takes no messages for 1 h 30 min; the limit is 15 min."
    assert relay["what_to_do"].startswith("See why the sink takes nothing")
    assert (accumulation["rows"], accumulation["figure"]) == ("/exceptions?type=charge_order", "48")
    assert (relay["silenced_until"], accumulation["silenced_until"] > found["at"]) == (None, True)
    assert datetime.now(UTC) - datetime.fromisoformat(found["evaluated_at"]) < HOUR


@pytest.mark.parametrize(
    ("permissions", "types", "seen"),
    [
        ([Permission.ALERTS], (), [None, "charge_order", "ship_order"]),
        ([Permission.ALERTS], ("ship_order",), ["ship_order"]),
        ([Permission.ALERTS, Permission.BROWSE], ("ship_order", "refund_order"), ["ship_order"]),
    ],
)
def test_a_token_sees_the_alerts_of_its_types(
    sqlite_program: Enter,
    sqlite_database: Database,
    permissions: list[Permission],
    types: tuple[str, ...],
    seen: list[str | None],
) -> None:
    add_alerts(sqlite_database, RELAY, {}, {"subject": "ship_order"})
    found = sqlite_program(*permissions, types=types).get("/alerts").json
    assert [each["type"] for each in found["items"]] == seen


def test_to_browse_is_not_enough(sqlite_program: Enter) -> None:
    answer = sqlite_program(Permission.BROWSE).get("/alerts")
    assert (answer.status_code, answer.json["code"]) == (403, "not_allowed")


def test_an_unknown_parameter_is_refused(sqlite_program: Enter) -> None:
    assert sqlite_program(Permission.ALERTS).get("/alerts?state=firing").status_code == 400


def test_how_much_is_asked_does_not_grow_with_what_there_is(sqlite_program: Enter, sqlite_database: Database) -> None:
    host = sqlite_program(Permission.ALERTS)
    host.get("/alerts")
    add_alerts(sqlite_database, {})
    with statements(sqlite_database) as few:
        host.get("/alerts")
    add_alerts(sqlite_database, *({"subject": f"type_{number}"} for number in range(300)))
    with statements(sqlite_database) as many:
        assert len(host.get("/alerts").json["items"]) == 200
    assert len(many) == len(few)
