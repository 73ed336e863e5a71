import json
from collections import Counter, defaultdict
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

import pytest

from dashboard.cli.demo_shop import POLICIES, shop_lines
from dashboard.domain.states import TRANSITIONS, State
from dashboard.domain.verdicts import compare_fields
from dashboard.services.import_lines import ImportLine, read_line
from dashboard.services.policies import load_policies
from tests.factories import NOW

HAPPENED = ("at", "created_at", "state_since", "updated_at", "confirmed_at", "verdict_at", "completed_at")
Line = Mapping[str, Any]


@pytest.fixture(scope="module")
def lines() -> list[ImportLine]:
    return [read_line(text, number=0) for text in shop_lines(now=NOW, policy_hash="0" * 64)]


@pytest.fixture(scope="module")
def operations(lines: list[ImportLine]) -> dict[str, Line]:
    return {line.fields["operation_id"]: line.fields for line in lines if line.kind == "operation"}


@pytest.fixture(scope="module")
def events(lines: list[ImportLine]) -> dict[str, list[Line]]:
    found: dict[str, list[Line]] = defaultdict(list)
    for line in lines:
        if line.kind == "event":
            found[line.fields["operation_id"]].append(line.fields)
    return found


def test_it_is_the_same_each_time_but_for_its_dates() -> None:
    once, again = (list(shop_lines(now=NOW, policy_hash=None)) for _ in range(2))
    later = list(shop_lines(now=NOW + timedelta(days=40), policy_hash=None))
    assert once == again
    assert len(once) == len(later)
    assert [json.loads(line).get("state") for line in once] == [json.loads(line).get("state") for line in later]


def test_nothing_in_it_happened_later_than_now(lines: list[ImportLine]) -> None:
    late = [line.fields for line in lines if any((line.fields.get(name) or NOW) > NOW for name in HAPPENED)]
    assert late == []


def test_it_spans_a_month(operations: dict[str, Line]) -> None:
    oldest = min(operation["created_at"] for operation in operations.values())
    assert timedelta(days=28) < NOW - oldest < timedelta(days=31)


def test_states_are_reached_by_allowed_transitions_in_order_of_time(
    operations: dict[str, Line], events: dict[str, list[Line]]
) -> None:
    allowed = {(row.source, row.target, kind) for row in TRANSITIONS for kind in row.actors}
    for name, operation in operations.items():
        state, at = State.PENDING.value, operation["created_at"]
        for number, event in enumerate(events[name], start=1):
            assert event["seq"] == number
            assert event["at"] >= at
            at = event["at"]
            if event["event"] == "transition":
                assert event["from_state"] == state
                assert (state, event["to_state"], event["actor_kind"]) in allowed
                state = event["to_state"]
        assert (operation["state"], operation["updated_at"]) == (state, at)


def test_verdicts_agree_with_what_was_seen(events: dict[str, list[Line]]) -> None:
    probes = [event["evidence"] for told in events.values() for event in told if event["event"] == "probe"]
    for seen in probes:
        differs = any(field.differs for field in compare_fields(seen["expected"], seen["actual"]))
        assert differs == (seen["verdict"] == "divergent")
    assert {seen["verdict"] for seen in probes} == {"correct", "divergent", "ambiguous", "absent", "not_applicable"}


def test_it_has_enough_of_everything(operations: dict[str, Line], lines: list[ImportLine]) -> None:
    states = Counter(operation["state"] for operation in operations.values())
    records = [line.fields for line in lines if line.kind == "idempotency"]
    assert 580 <= len(operations) <= 640
    assert set(states) == {state.value for state in State}
    assert 60 <= len(operations) - states["confirmed"] - states["compensated"] - states["not_applicable"] <= 80
    assert {record["state"] for record in records} == {"completed", "pending", "processing"}
    assert any(record["conflict_count"] for record in records)
    assert any(operation["parent"] for operation in operations.values())
    assert {event["cause"] for event in (line.fields for line in lines if line.kind == "event")} >= {
        "sent_unknown",
        "throttled",
        "not_sent",
    }


def test_its_policies_know_every_type_and_how_to_undo_it(operations: dict[str, Line]) -> None:
    policies = load_policies(POLICIES)
    for operation in operations.values():
        assert policies.of(operation["type"]).destination == operation["destination"]
        assert policies.deadline_of(operation["type"]) == operation["deadline_at"] - operation["created_at"]
    assert policies.compensation_of("charge_order") == "refund_order"


def test_a_compensation_is_confirmed_before_its_parent_is_compensated(operations: dict[str, Line]) -> None:
    children = [operation for operation in operations.values() if operation["parent"]]
    for child in children:
        parent = operations[child["parent"]]
        confirmed_at: datetime = child["confirmed_at"]
        assert (parent["state"], parent["amount"]) == ("compensated", child["amount"])
        assert parent["state_since"] == confirmed_at
