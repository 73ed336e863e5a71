"""Alerts from breached to resolved, and what groups of them tell: never per rule, never per operation."""

from datetime import timedelta
from threading import Barrier, Thread

import pytest
from sqlalchemy import text, update

from dashboard.db import Database, transact
from dashboard.domain.alerting import NoticeKind
from dashboard.models import Alert, AlertEvaluation, AlertNotice, AlertSilence
from dashboard.services import alerts
from tests import factories
from tests.services.watching import ACCUMULATION, HOUR, MINUTE, PLACE, Watch, watching

TO = ["ops@shop.example"]
ROW = ("accumulation", "charge_order")
GROUPED = "[destinations.payments]\n" + "".join(
    f"[types.{name}]\ndestination = 'payments'\nalerts = {{ accumulation = {{ above = 0, for = '0s' }} }}\n"
    for name in ("charge_order", "refund_order")
)


@pytest.fixture
def watch(database: Database) -> Watch:
    """Accumulation above one for ten minutes; somebody gets mail."""
    found = watching(database)
    found.tell(mail=TO)
    return found


def fire(watch: Watch) -> None:
    watch.operations(2)
    watch.look()
    watch.look(10 * MINUTE)
    assert watch.states() == [(*ROW, "firing")]


def told(watch: Watch) -> list[str]:
    return [kind for _, kind, _ in watch.notices()]


def test_an_alert_is_pending_until_it_lasted(watch: Watch) -> None:
    watch.operations(2)
    watch.look()
    watch.look(9 * MINUTE)
    assert (watch.states(), watch.notices()) == ([(*ROW, "pending")], [])
    watch.look(MINUTE)
    assert watch.states() == [(*ROW, "firing")]
    assert watch.notices() == [("type:charge_order", "firing", "waiting")]
    (alert,) = watch.rows(Alert)
    assert (alert.figure, alert.threshold, alert.since) == ("2", "1", factories.NOW)
    assert alert.fired_at == alert.told_at == watch.now


def test_a_pending_one_that_ends_is_forgotten_without_a_word(watch: Watch) -> None:
    watch.operations(2)
    watch.look()
    watch.settle()
    watch.look(9 * MINUTE)
    assert (watch.states(), watch.notices()) == ([], [])
    watch.operations(2)
    watch.look(MINUTE)
    assert watch.states() == [(*ROW, "pending")]


def test_one_that_flaps_neither_ends_nor_fires_again(watch: Watch) -> None:
    fire(watch)
    for _ in range(3):
        watch.settle()
        watch.look(MINUTE)
        watch.look(3 * MINUTE)
        watch.operations(2)
        watch.look(MINUTE)
    assert (watch.states(), told(watch)) == ([(*ROW, "firing")], ["firing"])


def test_one_ends_once_it_was_clear_for_long_enough(watch: Watch) -> None:
    fire(watch)
    watch.settle()
    watch.look(MINUTE)
    watch.look(5 * MINUTE - timedelta(seconds=1))
    assert watch.states() == [(*ROW, "firing")]
    watch.look(timedelta(seconds=1))
    assert (watch.states(), told(watch)) == ([(*ROW, "resolved")], ["firing", "resolved"])
    (alert,) = watch.rows(Alert)
    assert (alert.resolved_at, alert.end_told_at) == (watch.now, watch.now)


def test_what_happened_before_is_kept_when_it_fires_again(watch: Watch) -> None:
    fire(watch)
    watch.settle()
    watch.look(MINUTE)
    watch.look(5 * MINUTE)
    watch.operations(2)
    watch.look(HOUR)
    watch.look(10 * MINUTE)
    assert watch.states() == [(*ROW, "resolved"), (*ROW, "firing")]
    assert told(watch) == ["firing", "resolved", "firing"]


def test_while_it_lasts_it_is_told_again(watch: Watch) -> None:
    fire(watch)
    watch.look(4 * HOUR - MINUTE)
    assert told(watch) == ["firing"]
    sent(watch)
    watch.look(MINUTE)
    watch.look(4 * HOUR)
    assert told(watch) == ["firing", "repeat", "repeat"]


def sent(watch: Watch) -> None:
    gone = update(AlertNotice).values(state="sent", sent_at=watch.now)
    transact(watch.database, lambda session: session.execute(gone))


def test_a_destination_is_one_group_however_many_of_its_types_fire(database: Database) -> None:
    watch = watching(database, GROUPED)
    watch.tell(mail=TO)
    watch.operations(1)
    watch.look()
    watch.operations(1, type="refund_order")
    watch.look(MINUTE)
    assert len(watch.states()) == 2
    assert watch.notices() == [("destination:payments", "firing", "waiting")]
    sent(watch)
    watch.look(4 * HOUR)
    assert [(notice.kind, notice.content.count("need a person")) for notice in watch.rows(AlertNotice)] == [
        ("firing", 1),
        ("repeat", 2),
    ]
    watch.settle()
    watch.look(MINUTE)
    watch.look(5 * MINUTE)
    assert told(watch) == ["firing", "repeat", "resolved"]


def test_each_receiver_has_a_notice_of_its_own(watch: Watch) -> None:
    watch.tell(mail=["a@shop.example", "b@shop.example"], webhook=watching(watch.database).policies.destination("x"))
    fire(watch)
    rows = [(notice.receiver, notice.recipient) for notice in watch.rows(AlertNotice)]
    assert rows == [("webhook", ""), ("mail", "a@shop.example"), ("mail", "b@shop.example")]


def test_a_type_that_leaves_the_policy_takes_its_alerts_along(watch: Watch) -> None:
    fire(watch)
    watch.change("[types.refund_order]")
    watch.look(MINUTE)
    watch.look(5 * MINUTE)
    assert (watch.states(), told(watch)) == ([(*ROW, "resolved")], ["firing", "resolved"])


def test_a_limit_that_is_raised_ends_what_it_covers(watch: Watch) -> None:
    fire(watch)
    watch.change(ACCUMULATION.replace("above = 1", "above = 2"))
    watch.look(MINUTE)
    watch.look(5 * MINUTE)
    assert watch.states() == [(*ROW, "resolved")]


def silence(watch: Watch, *, rule: str, lasts: timedelta) -> None:
    given = {"reason": factories.NOTE, "created_by": "ana@example.com", "created_at": watch.now}
    silenced = AlertSilence(
        rule=rule, subject="charge_order", ends_at=watch.now + lasts, idempotency_key=f"form-{watch.now}", **given
    )
    watch.add(silenced)


@pytest.mark.parametrize("rule", ["accumulation", ""])
def test_what_is_silenced_from_the_beginning_is_told_when_the_silence_ends(watch: Watch, rule: str) -> None:
    silence(watch, rule=rule, lasts=HOUR)
    fire(watch)
    watch.look(30 * MINUTE)
    assert told(watch) == []
    watch.look(30 * MINUTE)
    assert told(watch) == ["firing"]


def test_what_is_silenced_and_ends_is_never_told(watch: Watch) -> None:
    silence(watch, rule="", lasts=9 * HOUR)
    fire(watch)
    watch.settle()
    watch.look(MINUTE)
    watch.look(5 * MINUTE)
    assert (watch.states(), told(watch)) == ([(*ROW, "resolved")], [])


def test_a_silence_of_another_rule_silences_nothing(watch: Watch) -> None:
    silence(watch, rule="age", lasts=HOUR)
    fire(watch)
    assert told(watch) == ["firing"]


def test_a_silence_after_the_first_notice_stops_repeats_until_it_ends(watch: Watch) -> None:
    fire(watch)
    sent(watch)
    silence(watch, rule="", lasts=9 * HOUR)
    watch.look(4 * HOUR)
    watch.look(4 * HOUR)
    assert told(watch) == ["firing"]
    watch.look(HOUR)
    assert told(watch) == ["firing", "firing"]


def test_what_was_told_is_told_to_be_over_silenced_or_not(watch: Watch) -> None:
    fire(watch)
    silence(watch, rule="", lasts=9 * HOUR)
    watch.settle()
    watch.look(MINUTE)
    watch.look(5 * MINUTE)
    assert told(watch) == ["firing", "resolved"]


def test_what_joined_others_in_silence_is_told_when_its_silence_ends(database: Database) -> None:
    watch = watching(database, GROUPED)
    watch.tell(mail=TO)
    silence(watch, rule="", lasts=HOUR)
    watch.operations(1)
    watch.operations(1, type="refund_order")
    watch.look()
    sent(watch)
    watch.look(30 * MINUTE)
    assert told(watch) == ["firing"]
    watch.look(30 * MINUTE)
    assert [(notice.kind, notice.content.count("need a person")) for notice in watch.rows(AlertNotice)] == [
        ("firing", 1),
        ("firing", 2),
    ]
    sent(watch)
    watch.look(MINUTE)
    assert told(watch) == ["firing", "firing"]


def test_who_is_named_while_something_fires_is_told_at_once(watch: Watch) -> None:
    watch.tell()
    fire(watch)
    assert told(watch) == []
    watch.tell(mail=TO)
    watch.look(MINUTE)
    assert told(watch) == ["firing"]


def test_figures_that_cannot_be_read_change_nothing_and_stop_no_other(sqlite_database: Database) -> None:
    watch = watching(sqlite_database, ACCUMULATION + "[alerts]\ndead_letters = { above = 0, for = '0s' }")
    watch.tell(mail=TO)
    fire(watch)
    transact(sqlite_database, lambda session: factories.message(session, state="dead").id)
    broken = text("UPDATE operations SET created_at = 'yesterday'")
    transact(sqlite_database, lambda session: session.execute(broken))
    evaluated = watch.look(HOUR)
    assert evaluated is not None
    assert evaluated.unreadable == ("open operations",)
    assert watch.states() == [(*ROW, "firing"), ("dead_letters", "", "firing")]
    (row,) = watch.rows(AlertEvaluation)
    assert row.unreadable == "open operations"


def test_who_looks_just_after_another_leaves_it_at_that(watch: Watch) -> None:
    watch.operations(2)
    watch.look()
    again = alerts.evaluate(watch.database, policies=watch.policies, now=watch.now + MINUTE / 6, place=PLACE)
    assert again is None
    later = alerts.evaluate(watch.database, policies=watch.policies, now=watch.now + MINUTE, place=PLACE)
    assert later is not None


def test_two_who_look_at_once_write_one_notice(watch: Watch) -> None:
    watch.operations(2)
    watch.look()
    watch.now += HOUR
    ready = Barrier(2)

    def work() -> None:
        ready.wait()
        alerts.evaluate(watch.database, policies=watch.policies, now=watch.now, place=PLACE)

    workers = [Thread(target=work) for _ in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert (watch.states(), told(watch)) == ([(*ROW, "firing")], [NoticeKind.FIRING])


def test_a_row_of_the_evaluation_that_is_lost_is_made_anew(watch: Watch) -> None:
    transact(watch.database, lambda session: session.execute(text("DELETE FROM alert_evaluations")))
    assert watch.look() is not None
    assert [row.id for row in watch.rows(AlertEvaluation)] == [1]


def test_a_rule_of_a_newer_release_is_left_alone(watch: Watch) -> None:
    fire(watch)
    transact(watch.database, lambda session: session.execute(update(Alert).values(rule="heartbeat")))
    watch.look(HOUR)
    assert watch.states() == [("heartbeat", "charge_order", "firing"), (*ROW, "pending")]
