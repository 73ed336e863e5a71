"""Silences: who may, for what, why and until when; on the record, refused ones too."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import select, update

from dashboard.db import Database, clock, reading, transact
from dashboard.domain.alerting import INSTALLATION, Sight, sight
from dashboard.domain.errors import InvalidInputError, NotAllowedError, NotFoundError, OperationsError
from dashboard.domain.permissions import Actor, Grant, Role
from dashboard.models import AlertSilence, AuditEntry
from dashboard.queries import alerts as queries
from dashboard.services import audit, silences
from dashboard.services.silences import Wish, silence, unsilence
from tests import factories
from tests.services.watching import ACCUMULATION, policies, watching

POLICIES = policies(ACCUMULATION)
OPERATOR = factories.actor(Role.OPERATOR, name="eva@example.com")
EVERYTHING = Sight(None, installation=True)


def wish(**values: Any) -> Wish:
    given = {"subject": "charge_order", "rule": "accumulation", "lasts": timedelta(hours=1), "reason": factories.NOTE}
    return Wish(**{**given, "idempotency_key": "form-1", **values})


def silenced(database: Database, who: Actor = OPERATOR, **values: Any) -> AlertSilence:
    return silence(database, actor=who, wish=wish(**values), policies=POLICIES)


def entries(database: Database) -> list[tuple[str, str, str, str | None]]:
    with reading(database) as session:
        assert audit.verify(session).intact
        found = session.scalars(select(AuditEntry).order_by(AuditEntry.seq)).all()
    return [(entry.action, entry.subject, entry.outcome, entry.type) for entry in found]


def test_a_silence_holds_until_its_end_and_is_on_the_record(database: Database) -> None:
    made = silenced(database)
    assert made.ends_at - made.created_at == timedelta(hours=1)
    assert (made.rule, made.subject, made.created_by) == ("accumulation", "charge_order", "eva@example.com")
    assert entries(database) == [("alert_silence", "alert accumulation of type charge_order", "done", "charge_order")]
    with reading(database) as session:
        assert [each.id for each in queries.silences(session, sight=EVERYTHING)] == [made.id]
        assert queries.silences(session, sight=Sight(frozenset({"other"}), installation=True)) == []


def test_the_same_form_silences_once(database: Database) -> None:
    assert silenced(database).id == silenced(database).id
    assert len(entries(database)) == 1
    with pytest.raises(InvalidInputError):
        silenced(database, rule="")


def test_a_silence_is_ended_before_its_time_once(database: Database) -> None:
    made = silenced(database)
    ended = unsilence(database, actor=OPERATOR, number=made.id)
    again = unsilence(database, actor=OPERATOR, number=made.id)
    assert (ended.ended_by, again.ended_at) == ("eva@example.com", ended.ended_at)
    assert [entry[0] for entry in entries(database)] == ["alert_silence", "alert_unsilence"]
    with reading(database) as session:
        assert queries.silences(session, sight=EVERYTHING) == []


@pytest.mark.parametrize(
    ("wrong", "fields"),
    [
        ({"rule": "audit"}, ["rule"]),
        ({"lasts": None}, ["lasts"]),
        ({"lasts": timedelta(minutes=4)}, ["lasts"]),
        ({"lasts": timedelta(days=31)}, ["lasts"]),
        ({"reason": "too short"}, ["note"]),
        ({"rule": "x", "reason": None, "idempotency_key": ""}, ["rule", "idempotency_key", "note"]),
    ],
)
def test_a_form_that_says_too_little_is_refused_field_by_field(
    sqlite_database: Database, wrong: Mapping[str, Any], fields: list[str]
) -> None:
    with pytest.raises(InvalidInputError) as refused:
        silenced(sqlite_database, **wrong)
    assert [problem.field for problem in refused.value.problems] == fields
    assert [entry[2] for entry in entries(sqlite_database)] == ["refused"]


@pytest.mark.parametrize(
    ("who", "subject", "refusal"),
    [
        (factories.actor(Role.MANAGER), "charge_order", None),
        (factories.actor(Role.OPERATOR, only="charge_order"), "charge_order", None),
        (factories.actor(Role.MANAGER), INSTALLATION, None),
        (factories.actor(Role.ADMIN), INSTALLATION, None),
        (factories.actor(Role.SUPPORT), "charge_order", NotAllowedError),
        (factories.actor(Role.OPERATOR), INSTALLATION, NotAllowedError),
        (factories.actor(Role.SUPPORT, Role.OPERATOR, tenant="shop"), "charge_order", NotFoundError),
        (factories.actor(Role.OPERATOR, only="refund_order"), "charge_order", NotFoundError),
        (factories.actor(Role.MANAGER, only="charge_order"), INSTALLATION, NotFoundError),
        (factories.actor(Role.ADMIN), "charge_order", NotFoundError),
        (factories.actor(Role.MANAGER), "never_heard_of", NotFoundError),
    ],
)
def test_who_may_silence_what(
    sqlite_database: Database, who: Actor, subject: str, refusal: type[OperationsError] | None
) -> None:
    if refusal is None:
        assert silenced(sqlite_database, who, subject=subject, rule="").subject == subject
    else:
        with pytest.raises(refusal):
            silenced(sqlite_database, who, subject=subject, rule="")
    assert [entry[2] for entry in entries(sqlite_database)] == ["done" if refusal is None else "refused"]


def test_who_may_not_silence_may_not_end_a_silence(sqlite_database: Database) -> None:
    made = silenced(sqlite_database)
    with pytest.raises(NotAllowedError):
        unsilence(sqlite_database, actor=factories.actor(Role.SUPPORT), number=made.id)
    for number in (made.id, 99):
        with pytest.raises(NotFoundError):
            unsilence(sqlite_database, actor=factories.actor(Role.OPERATOR, only="other"), number=number)
    assert [entry[2] for entry in entries(sqlite_database)] == ["done", "refused", "refused", "refused"]


def test_a_type_without_policy_can_be_silenced_once_it_has_an_alert(sqlite_database: Database) -> None:
    watch = watching(sqlite_database, "[defaults.alerts]\naccumulation = { above = 0 }")
    watch.operations(1, type="made_up")
    watch.look()
    assert silenced(sqlite_database, subject="made_up").subject == "made_up"


@pytest.mark.parametrize(
    ("grants", "seen"),
    [
        ([Grant(Role.SUPPORT)], {"", "charge", "refund"}),
        ([Grant(Role.SUPPORT, "shop")], set()),
        ([Grant(Role.OPERATOR, None, "charge"), Grant(Role.SUPPORT, "shop", "refund")], {"charge"}),
        ([Grant(Role.ADMIN)], {""}),
        ([], set()),
    ],
)
def test_an_alert_is_seen_by_who_may_browse_all_it_counts(grants: list[Grant], seen: set[str]) -> None:
    assert {subject for subject in ("", "charge", "refund") if sight(grants).includes(subject)} == seen


def test_what_is_silenced_is_in_no_other_list(database: Database) -> None:
    watch = watching(database, "[defaults.alerts]\naccumulation = { above = 0, for = '0s' }\nage = { above = '1h' }")
    watch.operations(1, type="charge_order")
    watch.operations(1, type="refund_order")
    watch.look()
    silenced(database)
    with reading(database) as session:
        found = queries.numbers(session, sight=EVERYTHING)
        assert (found.firing, found.pending, found.silenced) == (1, 2, 1)
        shown = [(each.alert.subject, each.shown) for each in queries.open_alerts(session, sight=EVERYTHING)]
    assert shown == [
        ("charge_order", "silenced"),
        ("refund_order", "firing"),
        ("charge_order", "pending"),
        ("refund_order", "pending"),
    ]


def test_a_silence_that_is_over_silences_nothing(sqlite_database: Database) -> None:
    silenced(sqlite_database)
    past = transact(sqlite_database, clock) - silences.SHORTEST
    transact(sqlite_database, lambda session: session.execute(update(AlertSilence).values(ends_at=past)))
    with reading(sqlite_database) as session:
        assert queries.silences(session, sight=EVERYTHING) == []
