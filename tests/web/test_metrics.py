"""/metrics: what it counts, how it names it, whom it answers, and how little it reads."""

from collections.abc import Mapping
from datetime import date, datetime, timedelta
from typing import Any

import pytest
import sqlalchemy as sa
from prometheus_client.parser import text_string_to_metric_families
from pydantic import SecretStr

from dashboard.config import Settings
from dashboard.db import Database, transact
from dashboard.models import AwaySink, Operation
from dashboard.queries.audit_checks import Way
from dashboard.queries.trends import Sum
from dashboard.services.audit import Verification
from dashboard.services.audit_results import keep
from dashboard.web.exposition import Names
from tests import factories
from tests.web.client import PageClient
from tests.web.conftest import SYSTEM
from tests.web.lists import add_operations, app_on, now, statements

HERE = {"REMOTE_ADDR": "127.0.0.1"}
TOKEN = "a token of the tests"
HOUR = timedelta(hours=1)


def asked(database: Database, **settings: Any) -> PageClient:
    given = {"secret_key": SecretStr("a secret of the tests"), "cookie_secure": False, **settings}
    client = app_on(database, Settings(**given)).test_client()
    assert isinstance(client, PageClient)
    return client


def figures(database: Database, **settings: Any) -> dict[tuple[str, ...], float]:
    """Each sample by its name and labels."""
    answer = asked(database, **settings).get("/metrics", environ_base=HERE)
    assert (answer.status_code, answer.mimetype) == (200, "text/plain")
    found = {}
    for family in text_string_to_metric_families(answer.text):
        for sample in family.samples:
            assert sample.name.startswith("dashboard_")
            assert sample.name.endswith("_total") == (family.type == "counter")
            labels = sorted(sample.labels.items(), key=lambda label: label[0] != "type")
            found[(sample.name.removeprefix("dashboard_"), *(value for _, value in labels))] = sample.value
    return found


def event(database: Database, operation_id: str, **values: Any) -> None:
    def unit(session: Any) -> None:
        row = session.scalars(sa.select(Operation).where(Operation.operation_id == operation_id)).one()
        factories.event(session, row, **values)

    transact(database, unit)


def test_open_work_is_counted_by_type_and_state(database: Database) -> None:
    rows: tuple[Mapping[str, Any], ...] = (
        {"state": "manual_review", "created_at": now() - 5 * HOUR},
        {"state": "awaiting_confirmation", "deadline_at": now() - HOUR},
        {"state": "pending", "deadline_at": now() + HOUR, "type": "ship_order"},
        {"state": "confirmed"},
    )
    add_operations(database, *rows)
    found = figures(database)
    assert found["operations_open", "charge_order", "manual_review"] == 1
    assert found["operations_open", "ship_order", "pending"] == 1
    assert (found["operations_exceptions", "charge_order"], found["operations_exceptions", "ship_order"]) == (2, 0)
    assert found["operations_overdue", "charge_order"] >= 1
    assert found["operations_oldest_age_seconds", "charge_order"] >= 5 * 3600


def test_history_comes_from_the_counters_by_day(database: Database) -> None:
    at = now()
    ids = add_operations(
        database,
        *({"state": "confirmed", "created_at": at - each, "confirmed_at": at} for each in (20 * HOUR / 3600, HOUR)),
        {"state": "manual_review", "verdict": "divergent", "created_at": at},
    )
    kinds = {"kind": "transition", "from_state": "awaiting_confirmation", "to_state": "retry_scheduled"}
    event(database, ids[2], at=at, actor_kind="worker", cause="throttled", **kinds)
    found = figures(database)
    assert found["retries_total", "charge_order", "throttled"] == 1
    assert found["operations_judged_30d", "charge_order", "divergent"] >= 1
    within = [found["operations_confirmed_within_7d", "charge_order", bound] for bound in ("15", "30", "+Inf")]
    assert within == [0, 1, 2]


def test_what_waits_is_counted_and_what_never_happened_has_no_time(sqlite_database: Database) -> None:
    def unit(session: Any) -> None:
        factories.message(session, n=0)
        factories.message(session, n=1, state="dead")
        session.add(AwaySink(sink="hook", failures=3, since=now(), retry_at=now(), last_error="it answered 500"))

    transact(sqlite_database, unit)
    found = figures(sqlite_database)
    assert (found["outbox_messages", "pending"], found["outbox_messages", "dead"], found["outbox_sinks_away",]) == (
        1,
        1,
        1,
    )
    assert found["idempotency_keys_unsettled", "pending"] == 0
    assert ("outbox_last_published_timestamp_seconds",) not in found


def test_a_broken_audit_log_is_told_until_it_is_found_intact(database: Database) -> None:
    never = figures(database)
    assert (never["audit_verify_failed",], ("audit_last_verified_timestamp_seconds",) in never) == (0, False)
    for problem, failed in (("changed", 1), (None, 0)):
        check = Verification(3, None, 4 if problem else None, problem)
        transact(database, lambda session, check=check: keep(session, check, way=Way.COMMAND, actor=SYSTEM))  # type: ignore[misc]
        found = figures(database)
        assert found["audit_verify_failed",] == failed
        assert found["audit_last_verified_timestamp_seconds",] > (now() - HOUR).timestamp()


def test_when_the_log_was_anchored_is_told(sqlite_database: Database) -> None:
    assert ("audit_last_anchored_timestamp_seconds",) not in figures(sqlite_database)
    transact(sqlite_database, lambda session: keep(session, Verification(3, None), way=Way.ANCHOR, actor=SYSTEM))
    assert ("audit_last_anchored_timestamp_seconds",) in figures(sqlite_database)


def test_made_up_types_come_together_as_other(sqlite_database: Database) -> None:
    add_operations(sqlite_database, *({"type": f"type_{number}", "state": "pending"} for number in range(5)))
    found = figures(sqlite_database, metrics_types=2)
    assert {key[1] for key in found if key[0] == "operations_exceptions"} == {"type_0", "type_1", "other"}
    assert found["operations_open", "other", "pending"] == 3


def retried(database: Database, *days_ago: tuple[int, str, str]) -> None:
    """Retries, each so many days before today, of a type, for a cause."""

    def unit(session: Any) -> None:
        for days, name, cause in days_ago:
            row = factories.operation(session, type=name, state="confirmed", created_at=now(), confirmed_at=now())
            kinds = {"kind": "transition", "from_state": "processing", "to_state": "retry_scheduled"}
            factories.event(session, row, at=now() - timedelta(days=days), cause=cause, actor_kind="worker", **kinds)

    transact(database, unit)


def month(**counts: list[tuple[int, str, int]]) -> list[Sum]:
    """Sums of this month: for each cause (the day it began, type, count)."""
    return [
        Sum("retry", name, cause, count, date(2026, 11, day))
        for cause, found in counts.items()
        for day, name, count in found
    ]


def test_no_type_leaves_other_for_a_label_of_its_own(sqlite_database: Database) -> None:
    """An `other` that goes down would read as a reset, and its rate as a flood of retries."""
    retried(sqlite_database, (0, "m", "absent"), (0, "n", "absent"), (0, "o", "absent"))
    before = figures(sqlite_database, metrics_types=1)
    assert (before["retries_total", "m", "absent"], before["retries_total", "other", "absent"]) == (1, 2)
    add_operations(sqlite_database, {"type": "a", "state": "pending"}, {"type": "z", "state": "pending"})
    after = figures(sqlite_database, metrics_types=1)
    assert (after["retries_total", "m", "absent"], after["retries_total", "other", "absent"]) == (1, 2)


def test_types_that_come_later_in_the_month_do_not_push_others_out() -> None:
    counted = month(absent=[(3, "late", 9), (1, "early", 1)])
    own = Names(known=["told"], counted=counted, seen=["a"], most=2)
    assert [own.of(name) for name in ("told", "early", "late", "a")] == ["told", "early", "other", "other"]


def test_all_open_work_and_history_of_two_thousand_types_is_bounded(sqlite_database: Database) -> None:
    rows: Any = ({"type": f"type_{number:04}", "tenant": f"t{number}", "verdict": "absent"} for number in range(2000))
    add_operations(sqlite_database, *rows)
    with statements(sqlite_database) as asked_for:
        found = figures(sqlite_database, metrics_types=10)
    types = {key[1] for key in found if key[0] == "operations_judged_30d"}
    assert len(types) == 11
    assert sum(value for key, value in found.items() if key[0] == "operations_judged_30d") == 2000
    assert len(asked_for) < 30


def test_how_much_is_asked_does_not_grow_with_what_there_is(sqlite_database: Database) -> None:
    client = asked(sqlite_database)
    with statements(sqlite_database) as empty:
        client.get("/metrics", environ_base=HERE)
    add_operations(sqlite_database, *({"type": f"type_{number}"} for number in range(20)))
    with statements(sqlite_database) as full:
        client.get("/metrics", environ_base=HERE)
    assert len(full) == len(empty) < 30


@pytest.mark.parametrize(
    ("address", "headers", "status"),
    [
        ("127.0.0.1", {}, 200),
        ("127.8.9.10", {}, 200),
        ("::1", {}, 200),
        ("::ffff:127.0.0.1", {}, 200),
        ("203.0.113.7", {}, 403),
        ("::ffff:203.0.113.7", {}, 403),
        ("127.0.0.1", {"X-Forwarded-For": "203.0.113.7"}, 403),
        ("127.0.0.1", {"X-Forwarded-For": "127.0.0.1"}, 403),
        ("127.0.0.1", {"X-Real-IP": "203.0.113.7"}, 403),
        ("127.0.0.1", {"Forwarded": "for=203.0.113.7"}, 403),
        ("127.0.0.1", {"Authorization": f"Bearer {TOKEN}", "Via": "1.1 proxy"}, 403),
        ("", {}, 403),
    ],
)
def test_without_a_token_it_answers_this_machine_alone(
    sqlite_database: Database, address: str, headers: dict[str, str], status: int
) -> None:
    answer = asked(sqlite_database).get("/metrics", environ_base={"REMOTE_ADDR": address}, headers=headers)
    assert answer.status_code == status
    assert ("dashboard_" in answer.text) == (status == 200)


@pytest.mark.parametrize(
    ("given", "status"),
    [
        (f"Bearer {TOKEN}", 200),
        (f"bearer  {TOKEN}", 200),
        ("", 401),
        (TOKEN, 401),
        ("Bearer tökén", 401),
        ("Bearer", 401),
    ],
)
def test_with_a_token_it_answers_who_has_it_wherever(sqlite_database: Database, given: str, status: int) -> None:
    client = asked(sqlite_database, metrics_token=SecretStr(TOKEN))
    headers = {"Authorization": given, "X-Forwarded-For": "203.0.113.7"}
    answer = client.get("/metrics", environ_base={"REMOTE_ADDR": "203.0.113.7"}, headers=headers)
    assert answer.status_code == status
    assert client.get("/metrics", environ_base=HERE).status_code == 401


def test_switched_off_there_is_no_such_page(sqlite_database: Database) -> None:
    client = asked(sqlite_database, metrics=False)
    assert client.get("/metrics", environ_base=HERE).status_code == 404


def test_a_counter_begins_anew_with_the_month(sqlite_database: Database) -> None:
    at = now()
    [operation_id] = add_operations(sqlite_database, {"state": "retry_scheduled"})
    kinds = {"kind": "transition", "from_state": "processing", "to_state": "retry_scheduled", "actor_kind": "worker"}
    for seq, when in enumerate((at, datetime(at.year, at.month, 1, tzinfo=at.tzinfo) - HOUR), start=1):
        event(sqlite_database, operation_id, seq=seq, at=when, cause="not_sent", **kinds)
    assert figures(sqlite_database)["retries_total", "charge_order", "not_sent"] == 1


def test_history_itself_is_never_read(sqlite_database: Database) -> None:
    with statements(sqlite_database) as asked_for:
        asked(sqlite_database).get("/metrics", environ_base=HERE)
    with sqlite_database.engine.connect() as connection:
        steps = [step for text in asked_for if text.startswith("SELECT") for step in plan(connection, text)]
    assert len(steps) > 20
    # Indexes over open rows hold nothing else, and the newest run is one row.
    whole = [step for step in steps if step.startswith("SCAN") and "USING INDEX" not in step]
    tables = {"operations", "operation_events", "operation_facts", "idempotency_records", "outbox_messages", "actions"}
    assert tables.isdisjoint(step.split()[1] for step in whole)


def plan(connection: sa.Connection, text: str) -> list[str]:
    """SQLite's steps; what is bound makes no difference to them."""
    cursor = connection.connection.cursor()
    cursor.execute(f"EXPLAIN QUERY PLAN {text}", [None] * text.count("?"))
    return [row[3] for row in cursor.fetchall()]
