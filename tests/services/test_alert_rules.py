"""Each rule of the policy is breached by its figure, on every engine, and says so with the figure and the limit."""

from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from sqlalchemy import event, update

from dashboard.db import Database, transact
from dashboard.domain.alert_words import in_english, rows_path, what_is_wrong, what_to_do
from dashboard.domain.alerting import Breach, Rule
from dashboard.models import AuditCheck, AuditEntry, AwaySink, Heartbeat, RollupState
from dashboard.services import alert_looks
from tests import factories
from tests.services.watching import HOUR, MINUTE, Watch, watching

NOW = factories.NOW


def breach(watch: Watch) -> Breach:
    (found,) = breaches(watch)
    return found


def breaches(watch: Watch) -> tuple[Breach, ...]:
    looked = alert_looks.look(watch.database, policies=watch.policies, now=watch.now)
    assert (looked.unknown, looked.unreadable) == (frozenset(), ())
    return looked.breaches


def told(found: Breach) -> str:
    assert what_to_do(found)
    return in_english(what_is_wrong(found))


def test_accumulation_counts_what_needs_a_person(database: Database) -> None:
    watch = watching(database, "[types.charge_order.alerts]\naccumulation = { above = 2 }")
    watch.operations(2)
    watch.operations(state="awaiting_confirmation", deadline_at=NOW + HOUR)
    assert breaches(watch) == ()
    watch.operations(state="awaiting_confirmation", deadline_at=NOW - HOUR)
    assert told(breach(watch)) == "Operations of charge_order that need a person: 3; the limit is 2."
    assert rows_path(breach(watch), now=NOW) == "/exceptions?type=charge_order"


def test_age_is_that_of_the_oldest_open_operation(database: Database) -> None:
    watch = watching(database, "[types.charge_order.alerts]\nage = { above = '24h' }")
    watch.operations(state="confirmed", created_at=NOW - 90 * HOUR)
    watch.operations(state="pending", created_at=NOW - 24 * HOUR)
    assert breaches(watch) == ()
    watch.operations(state="pending", created_at=NOW - 26 * HOUR - 5 * MINUTE)
    expected = "The oldest open operation of charge_order waits for 1 d 2 h; the limit is 1 d."
    assert told(breach(watch)) == expected
    path = rows_path(breach(watch), now=NOW)
    assert path.endswith("&sort=oldest&type=charge_order&min_age=86400s")


def test_a_deadline_is_missed_by_open_operations_alone(database: Database) -> None:
    watch = watching(database, "[defaults.alerts]\ndeadline = { above = 0 }")
    watch.operations(state="confirmed", deadline_at=NOW - HOUR)
    assert breaches(watch) == ()
    watch.operations(type="ship_order", state="pending", deadline_at=NOW - HOUR)
    assert told(breach(watch)) == "Open operations of ship_order past their deadline: 1; the limit is 0."


def test_a_share_of_too_few_says_nothing(database: Database) -> None:
    watch = watching(database, "[types.charge_order.alerts]\ndivergence = { above = '0.1', minimum = 20 }")
    given = {"state": "confirmed", "created_at": NOW - HOUR}
    watch.operations(3, **given, verdict="divergent")
    watch.operations(16, **given, verdict="correct")
    watch.operations(5, **given, verdict="a word of a host")
    assert breaches(watch) == ()
    watch.operations(1, **given, verdict="correct")
    expected = (
        "Of 20 operations of charge_order that were created in the last 30 days and checked, 15 % differ from what was"
        " expected; the limit is 10 %."
    )
    assert told(breach(watch)) == expected
    assert breach(watch).figure == Decimal("0.15")
    path = rows_path(breach(watch), now=NOW)
    assert path == "/operations?verdict=divergent&type=charge_order&created_from=2026-11-01T00%3A00%3A00%2B00%3A00"


def test_a_share_at_the_limit_is_within_it(database: Database) -> None:
    watch = watching(database, "[types.charge_order.alerts]\ndivergence = { above = '0.1', minimum = 1 }")
    watch.operations(1, created_at=NOW, verdict="divergent")
    watch.operations(9, created_at=NOW, verdict="correct")
    assert breaches(watch) == ()


def test_odd_rows_are_no_alerts(database: Database) -> None:
    limits = ("accumulation = { above = 0 }", "age = { above = '1s' }", "divergence = { above = '0', minimum = 1 }")
    text = "\n".join(("[defaults.alerts]", *limits))
    watch = watching(database, text)
    watch.operations(type="", verdict="divergent", created_at=NOW - HOUR)
    watch.operations(state="pending", created_at=NOW + HOUR, deadline_at=NOW + 2 * HOUR, verdict="correct")
    assert breaches(watch) == ()


def test_counters_that_are_not_whole_say_nothing(database: Database) -> None:
    watch = watching(database, "[types.charge_order.alerts]\ndivergence = { above = '0.1', minimum = 1 }")
    watch.operations(1, created_at=NOW, verdict="divergent")
    assert len(breaches(watch)) == 1
    transact(database, lambda session: session.execute(update(RollupState).values(built_at=None)))
    assert breaches(watch) == ()


def test_dead_letters_are_counted(database: Database) -> None:
    watch = watching(database, "[alerts]\ndead_letters = { above = 1 }")
    transact(database, lambda session: [factories.message(session, state="dead").id for _ in range(2)])
    assert told(breach(watch)) == "Dead messages, which hold up what comes after them: 2; the limit is 1."


def due(watch: Watch, **values: Any) -> None:
    watch.operations(state="awaiting_confirmation", deadline_at=NOW + 9 * HOUR, **values)


def test_the_reconciler_stands_still_where_something_is_due_and_nothing_is_looked_at(database: Database) -> None:
    watch = watching(database, RECONCILER)
    due(watch, next_attempt_at=NOW - 10 * MINUTE)
    assert breaches(watch) == ()
    due(watch, next_attempt_at=NOW - 20 * MINUTE)
    expected = "Operations are due to be looked at, and none was for 20 min; the limit is 15 min."
    assert told(breach(watch)) == expected
    watch.add(Heartbeat(name="reconciler", at=NOW - 16 * MINUTE))
    assert breach(watch).figure == 16 * 60
    watch.now -= 2 * MINUTE
    assert breaches(watch) == ()


def test_what_was_never_looked_at_is_due_after_its_window(database: Database) -> None:
    watch = watching(
        database, "[types.charge_order]\nwindow = { after = '30m' }\n[alerts]\nreconciler = { after = '15m' }"
    )
    due(watch, state_since=NOW - 44 * MINUTE, next_attempt_at=None)
    assert breaches(watch) == ()
    watch.now += 2 * MINUTE
    assert breach(watch).figure == 16 * 60


RELAY = "[alerts]\nrelay = { after = '15m' }\n[sinks.polled]\nkind = 'table'\n"
RELAY += "[sinks.hook]\nkind = 'webhook'\nurl = 'https://hook.example'\nsecret = { env = 'HOOK' }\n"


def messages(database: Database, **values: Any) -> None:
    transact(database, lambda session: factories.message(session, **values).id)


def test_the_relay_stands_still_where_a_publishable_message_waits(database: Database) -> None:
    watch = watching(database, RELAY)
    messages(database, next_attempt_at=NOW - 14 * MINUTE)
    messages(database, sink="polled", next_attempt_at=NOW - HOUR)
    messages(database, state="published", next_attempt_at=NOW - HOUR)
    messages(database, next_attempt_at=NOW - HOUR, lease_token="held", lease_until=NOW + MINUTE)
    assert breaches(watch) == ()
    messages(database, next_attempt_at=NOW - 20 * MINUTE)
    expected = "A message to the sink hook waits for 20 min to be published; the limit is 15 min."
    assert told(breach(watch)) == expected
    assert rows_path(breach(watch), now=NOW) == "/outbox?state=pending&sink=hook"


@pytest.mark.parametrize(("state", "later"), [("dead", HOUR), ("pending", HOUR)])
def test_what_waits_behind_its_key_is_not_for_the_relay(database: Database, state: str, later: timedelta) -> None:
    watch = watching(database, RELAY)
    messages(database, aggregate_key="order-1", state=state, next_attempt_at=NOW + later)
    messages(database, aggregate_key="order-1", next_attempt_at=NOW - HOUR)
    assert breaches(watch) == ()


def test_a_sink_that_is_away_says_more_than_what_waits_for_it(database: Database) -> None:
    watch = watching(database, RELAY)
    messages(database, next_attempt_at=NOW - HOUR)
    watch.add(AwaySink(sink="hook", failures=3, since=NOW - 10 * MINUTE, retry_at=NOW, last_error="it answered 503"))
    assert breaches(watch) == ()
    watch.now += 10 * MINUTE
    assert told(breach(watch)) == "The sink hook takes no messages for 20 min; the limit is 15 min."


def test_a_sink_that_nobody_misses_is_no_standstill(database: Database) -> None:
    watch = watching(database, RELAY)
    away = {"failures": 3, "since": NOW - HOUR, "retry_at": NOW, "last_error": "it answered 503"}
    # The first has nothing to take, the second left the policy.
    watch.add(AwaySink(sink="hook", **away), AwaySink(sink="left", **away))
    messages(database, state="dead")
    messages(database, sink="left", next_attempt_at=NOW + HOUR)
    assert breaches(watch) == ()


RECONCILER = "[alerts]\nreconciler = { after = '15m' }"
AUDIT = "[alerts]\naudit = { verified_within = '36h', anchored_within = '7d' }"


def check(watch: Watch, **values: Any) -> None:
    given = {"actor_kind": "system", "actor_id": "tests", "checked": 1, "runs": 0, "anchors": 0, **values}
    watch.add(AuditCheck(**given))


@pytest.fixture
def audited(database: Database) -> Watch:
    """A log whose first entry is ten days old."""
    watch = watching(database, AUDIT)
    assert breaches(watch) == ()
    entry = {"actor_kind": "system", "actor_id": "tests", "action": "note", "subject": "x", "outcome": "done"}
    watch.add(AuditEntry(seq=1, at=NOW - 240 * HOUR, hash="0" * 64, **entry))
    return watch


def test_a_log_that_was_never_verified_is_told(audited: Watch) -> None:
    expected = "The audit log was never verified and is 10 d old; it is to be verified every 1 d 12 h."
    assert told(breach(audited)) == expected


def test_an_old_verification_is_told(audited: Watch) -> None:
    check(audited, way="command", at=NOW - 40 * HOUR)
    assert told(breach(audited)) == (
        "The audit log was last verified 1 d 16 h ago; it is to be verified every 1 d 12 h."
    )


def test_a_finding_is_told_whenever_it_was(audited: Watch) -> None:
    check(audited, way="command", at=NOW - HOUR, problem="changed", broken_seq=1)
    found = breach(audited)
    assert (told(found), found.about) == ("The audit log was verified 1 h ago, and it does not hold.", "changed")
    assert found.rule is Rule.AUDIT_BROKEN


def test_a_log_without_an_anchor_is_told_where_anchors_are_asked_for(audited: Watch) -> None:
    check(audited, way="command", at=NOW - HOUR)
    expected = "The audit log was not anchored for 10 d; it is to be anchored every 7 d."
    assert told(breach(audited)) == expected
    check(audited, way="anchor", at=NOW - HOUR)
    assert breaches(audited) == ()


def test_without_rules_nothing_is_breached(database: Database) -> None:
    watch = watching(database, "[types.charge_order]")
    watch.operations(50)
    messages(database, state="dead")
    assert breaches(watch) == ()


def test_looking_asks_as_much_of_many_types_as_of_none(sqlite_database: Database) -> None:
    text = "[defaults.alerts]\naccumulation = { above = 0 }\ndivergence = { above = '0', minimum = 1 }\n"
    text += "[alerts]\n" + "\n".join(each.splitlines()[1] for each in (RELAY, AUDIT, RECONCILER))
    watch = watching(sqlite_database, text)
    counted: list[str] = []
    event.listen(sqlite_database.engine, "before_cursor_execute", lambda *given: counted.append(given[2]))
    breaches(watch)
    few = len(counted)
    for number in range(20):
        watch.operations(type=f"type_{number}", verdict="divergent", created_at=NOW)
    counted.clear()
    assert len(breaches(watch)) == 40
    assert len(counted) == few
