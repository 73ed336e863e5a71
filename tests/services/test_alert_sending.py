"""Notices leave once, in order, and come again while their receiver is away; what is given up shows."""

import json
from collections.abc import Iterator
from threading import Barrier, Thread

import pytest
from sqlalchemy import select

from dashboard.adapters.mail import MailServer
from dashboard.adapters.sinks.outcomes import MessageRefusedError
from dashboard.db import Database, transact
from dashboard.domain.policy import Auth
from dashboard.models import AlertNotice
from dashboard.services import alert_sending
from dashboard.services.alert_sending import MOST_ATTEMPTS
from tests.alert_receiver import AlertReceiver, receiving_alerts
from tests.mail_server import Letters, receiving
from tests.services.watching import HOUR, MINUTE, Watch, watching


@pytest.fixture
def receiver() -> Iterator[AlertReceiver]:
    with receiving_alerts() as found:
        yield found


@pytest.fixture
def letters() -> Iterator[Letters]:
    with receiving() as found:
        yield found


@pytest.fixture
def watch(database: Database, receiver: AlertReceiver) -> Watch:
    """Something that has just begun to fire, and a webhook to tell."""
    found = watching(database)
    found.tell(webhook=receiver.webhook())
    found.operations(2)
    found.look()
    found.look(10 * MINUTE)
    return found


def notices(watch: Watch) -> list[tuple[str, str, int]]:
    return [(notice.kind, notice.state, notice.attempts) for notice in watch.rows(AlertNotice)]


def end(watch: Watch) -> None:
    watch.settle()
    watch.look(MINUTE)
    watch.look(5 * MINUTE)


def mailed(watch: Watch, letters: Letters, *addresses: str) -> None:
    """The same, told by mail alone; what was written for the webhook is gone."""
    transact(watch.database, lambda session: session.query(AlertNotice).update({"state": "superseded"}))
    watch.tell(mail=addresses)
    watch.server = MailServer("127.0.0.1", letters.port, "none", "dashboard@shop.example")
    watch.look(4 * HOUR)


def newest(watch: Watch) -> AlertNotice:
    notice: AlertNotice = watch.rows(AlertNotice)[-1]
    return notice


def test_an_alertmanager_is_told_what_fires_and_that_it_is_over(watch: Watch, receiver: AlertReceiver) -> None:
    assert watch.send() == 1
    end(watch)
    watch.send()
    assert watch.send() == 0
    (fired,), (over,) = receiver.taken
    labels = {
        "alertname": "DashboardAccumulation",
        "severity": "warning",
        "type": "charge_order",
        "environment": "test",
    }
    assert fired["labels"] == over["labels"] == labels
    assert (fired["startsAt"], over["startsAt"]) == ("2026-11-30T12:10:00.123457Z",) * 2
    assert (fired["endsAt"], over["endsAt"]) == ("2026-11-30T20:10:00.123457Z", "2026-11-30T12:16:00.123457Z")
    assert fired["annotations"]["description"] == "Operations of charge_order that need a person: 2; the limit is 1."
    assert fired["annotations"]["action"].startswith("Look whether one cause is behind most of them")
    assert fired["generatorURL"] == "https://ops.shop.example/exceptions?type=charge_order"
    assert notices(watch) == [("firing", "sent", 1), ("resolved", "sent", 1)]


def test_one_that_is_refused_is_given_up_visibly(watch: Watch, receiver: AlertReceiver) -> None:
    receiver.answer = lambda: 400
    assert (watch.send(), watch.send(HOUR)) == (1, 0)
    assert notices(watch) == [("firing", "given_up", 1)]
    assert newest(watch).last_error == "it answered 400 Bad Request"


def test_a_receiver_that_is_away_is_asked_again_ever_later(watch: Watch, receiver: AlertReceiver) -> None:
    receiver.answer = lambda: 503
    waits = []
    for _ in range(8):
        watch.send()
        waits.append((newest(watch).next_attempt_at - watch.now).total_seconds())
        watch.now = newest(watch).next_attempt_at
    assert all(low <= wait <= 2 * low for low, wait in zip((5, 10, 20, 40, 80, 150, 150, 150), waits, strict=True))
    receiver.answer = lambda: 200
    watch.send()
    assert notices(watch) == [("firing", "sent", 9)]
    assert len(receiver.taken) == 1


def test_an_answer_that_says_when_is_believed(watch: Watch, receiver: AlertReceiver) -> None:
    receiver.answer = lambda: (429, {"Retry-After": "900"})
    watch.send()
    assert (watch.send(14 * MINUTE), watch.send(MINUTE)) == (0, 1)
    assert newest(watch).last_error == "it answered 429 Too Many Requests"


def test_while_a_receiver_is_away_one_notice_asks_for_all(watch: Watch, receiver: AlertReceiver) -> None:
    watch.change("[defaults.alerts]\naccumulation = { above = 0, for = '0s' }")
    for number in range(5):
        watch.operations(1, type=f"type_{number}")
    watch.look()
    receiver.answer = lambda: 503
    assert watch.send() == 1
    assert len(receiver.posted) == 1


def test_one_that_is_never_taken_is_given_up_after_hours(watch: Watch, receiver: AlertReceiver) -> None:
    receiver.answer = lambda: 500
    for _ in range(MOST_ATTEMPTS):
        assert newest(watch).state == "waiting"
        watch.now = newest(watch).next_attempt_at
        watch.send()
    assert notices(watch) == [("firing", "given_up", MOST_ATTEMPTS)]


def test_the_end_does_not_overtake_the_beginning(watch: Watch, receiver: AlertReceiver) -> None:
    receiver.answer = lambda: 503
    watch.send()
    end(watch)
    assert watch.send() <= 1
    receiver.answer = lambda: 200
    watch.send(HOUR)
    assert notices(watch)[0][:2] == ("firing", "sent")
    assert [bool(posted[0]["endsAt"] > posted[0]["startsAt"]) for posted in receiver.taken] == [True, True]
    assert [kind for kind, state, _ in notices(watch) if state == "sent"] == ["firing", "resolved"]


def test_a_repeat_takes_the_place_of_what_never_left(watch: Watch, receiver: AlertReceiver) -> None:
    receiver.answer = lambda: 503
    watch.send()
    watch.look(4 * HOUR)
    assert [(kind, state) for kind, state, _ in notices(watch)] == [("firing", "superseded"), ("firing", "waiting")]


def test_who_died_between_claim_and_sending_has_it_sent_by_another(watch: Watch, receiver: AlertReceiver) -> None:
    held = transact(watch.database, lambda session: alert_sending.claim(session, now=watch.now))
    assert held is not None
    assert watch.send() == 0
    assert watch.send(6 * MINUTE) == 1
    assert (len(receiver.taken), notices(watch)) == (1, [("firing", "sent", 2)])


def test_who_wakes_after_its_lease_changes_nothing(watch: Watch, receiver: AlertReceiver) -> None:
    held = transact(watch.database, lambda session: alert_sending.claim(session, now=watch.now))
    assert held is not None
    watch.send(6 * MINUTE)
    late = MessageRefusedError("it answered 400")
    transact(watch.database, lambda session: alert_sending.mark(session, held, late, now=watch.now))
    assert notices(watch) == [("firing", "sent", 2)]


def test_two_who_send_at_once_send_one(watch: Watch, receiver: AlertReceiver) -> None:
    ready = Barrier(2)

    def work() -> None:
        ready.wait()
        watch.send()

    workers = [Thread(target=work) for _ in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert (len(receiver.posted), notices(watch)) == (1, [("firing", "sent", 1)])


def test_a_private_address_is_refused_unless_it_is_allowed(watch: Watch, receiver: AlertReceiver) -> None:
    watch.tell(webhook=receiver.webhook(allow_private=False))
    watch.send()
    assert receiver.posted == []
    assert newest(watch).last_error == "its address is a private one, and the policy does not allow that"


def test_the_secret_is_sent_and_never_kept(
    watch: Watch, receiver: AlertReceiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    watch.tell(webhook=receiver.webhook(auth=Auth("bearer", "TESTS_ALERTS_TOKEN")))
    watch.send()
    assert newest(watch).last_error == "The environment variable TESTS_ALERTS_TOKEN is not set."
    monkeypatch.setenv("TESTS_ALERTS_TOKEN", "a secret of the tests")
    watch.send(HOUR)
    assert receiver.headers[-1]["authorization"] == "Bearer a secret of the tests"
    assert "secret of" not in newest(watch).content


def test_a_receiver_that_left_the_policy_gets_nothing_more(watch: Watch) -> None:
    watch.tell()
    watch.send()
    assert (notices(watch), newest(watch).last_error) == (
        [("firing", "given_up", 1)],
        "the policy names this receiver no longer",
    )


def test_a_letter_says_what_is_wrong_since_when_and_what_to_do(watch: Watch, letters: Letters) -> None:
    mailed(watch, letters, "ops@shop.example")
    assert watch.send() == 1
    ((to, text),) = letters.kept
    assert to == "ops@shop.example"
    assert "Subject: [test] Still firing: charge_order: Operations wait for a person" in text
    body = " ".join(text.split())
    assert "Operations of charge_order that need a person: 2; the limit is 1. Since: 2026-11-30 12:00 UTC" in body
    assert "What to do: Look whether one cause is behind most of them" in body
    assert "https://ops.shop.example/exceptions?type=charge_order" in body.replace("=3D", "=").replace("= ", "")
    assert "op-" not in text


def test_an_address_that_is_refused_keeps_no_other_from_its_letter(watch: Watch, letters: Letters) -> None:
    letters.unknown = frozenset({"gone@shop.example"})
    mailed(watch, letters, "gone@shop.example", "ops@shop.example")
    watch.send()
    assert [to for to, _ in letters.kept] == ["ops@shop.example"]
    found = [(notice.recipient, notice.state) for notice in watch.rows(AlertNotice)[1:]]
    assert found == [("gone@shop.example", "given_up"), ("ops@shop.example", "sent")]


def test_a_letter_that_was_taken_is_not_sent_again_for_a_bad_farewell(watch: Watch, letters: Letters) -> None:
    letters.farewell = "421 too busy to say goodbye"
    mailed(watch, letters, "ops@shop.example")
    watch.send()
    watch.send(HOUR)
    assert [to for to, _ in letters.kept] == ["ops@shop.example"]
    assert newest(watch).state == "sent"


def test_without_a_server_for_mail_that_is_said(watch: Watch, letters: Letters) -> None:
    mailed(watch, letters, "ops@shop.example")
    watch.server = None
    watch.send()
    assert (newest(watch).state, newest(watch).last_error) == (
        "waiting",
        "no server for mail is set up: set DASHBOARD_SMTP_HOST",
    )


def test_a_server_for_mail_that_is_away_is_asked_again(watch: Watch, letters: Letters) -> None:
    mailed(watch, letters, "ops@shop.example")
    there, watch.server = watch.server, MailServer("127.0.0.1", 9, "none", "dashboard@shop.example")
    watch.send()
    assert newest(watch).last_error == "the server for mail cannot be reached (ConnectionRefusedError)"
    watch.server = there
    watch.send(MINUTE)
    assert len(letters.kept) == 1


def test_what_is_told_again_after_a_crash_is_the_same_letter(watch: Watch, letters: Letters) -> None:
    mailed(watch, letters, "ops@shop.example")
    watch.send()
    transact(
        watch.database, lambda session: session.query(AlertNotice).filter_by(state="sent").update({"state": "waiting"})
    )
    watch.send()
    first, second = (text for _, text in letters.kept)
    found = [next(line for line in text.splitlines() if line.startswith("Message-ID")) for text in (first, second)]
    assert found[0] == found[1]


def test_what_is_posted_stays_as_it_was_decided(watch: Watch, receiver: AlertReceiver) -> None:
    content = transact(watch.database, lambda session: session.scalar(select(AlertNotice.content)))
    watch.settle()
    watch.send(HOUR)
    assert receiver.posted == [json.loads(content or "")]
