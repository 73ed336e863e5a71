"""A person asks now: what policy allows is done, and the person is named."""

import pytest
from sqlalchemy import select

from dashboard.db import reading
from dashboard.domain.errors import LostRaceError, NotFoundError
from dashboard.domain.permissions import Role
from dashboard.domain.policy import Mode
from dashboard.models import AuditEntry
from tests.destination import Planned
from tests.factories import actor
from tests.reconciling import Payments

SUPPORT = actor(Role.SUPPORT)


def test_a_check_confirms_what_exists_and_names_who_asked(local_payments: Payments) -> None:
    local_payments.sent(state="manual_review")
    local_payments.shows()
    found = local_payments.look(SUPPORT)
    assert (found.verdict, found.reason, found.response, found.applied) == ("correct", "agrees", "confirm", True)
    assert local_payments.facts() == (1, "confirmed", "correct")
    probe, moved = local_payments.events("probe")[0], local_payments.events("transition")[-1]
    assert (probe.actor_kind, probe.actor_id) == ("user", SUPPORT.id)
    assert (moved.actor_kind, moved.actor_id) == ("reconciler", SUPPORT.id)


def test_a_check_is_audited_once_with_its_digest(local_payments: Payments) -> None:
    local_payments.sent()
    local_payments.look(SUPPORT)
    with reading(local_payments.database) as session:
        entry = session.scalars(select(AuditEntry)).one()
    assert (entry.action, entry.subject, entry.actor_id, entry.outcome) == ("check", "op-1", SUPPORT.id, "done")
    assert local_payments.runs()[0].origin == "check"
    assert str(local_payments.runs()[0].digest) in str(entry.evidence)


def test_two_checks_apart_give_a_person_the_proof_to_requeue(local_payments: Payments) -> None:
    local_payments.under(visibility_lag=local_payments.policies.of("charge_order").visibility_lag / 600)
    local_payments.sent(state="manual_review")
    assert local_payments.look(SUPPORT).reason == "first_miss"
    local_payments.wait(local_payments.policies.of("charge_order").visibility_lag)
    found = local_payments.look(SUPPORT)
    assert (found.verdict, found.response) == ("absent", "wait")
    assert local_payments.row().recommended_action == "requeue"


def test_a_check_that_disagrees_with_a_confirmed_operation_brings_it_back(local_payments: Payments) -> None:
    local_payments.sent(state="confirmed", verdict="correct")
    local_payments.shows(amount="1.00")
    assert local_payments.look(SUPPORT).response == "review"
    assert local_payments.facts() == (1, "manual_review", "divergent")


def test_an_effect_that_shows_twice_brings_a_confirmed_operation_back(local_payments: Payments) -> None:
    local_payments.sent(state="confirmed", verdict="correct")
    local_payments.shows()
    local_payments.shows()
    local_payments.look(SUPPORT)
    assert local_payments.facts() == (2, "manual_review", "ambiguous")


def test_an_outage_says_nothing_against_what_is_confirmed(local_payments: Payments) -> None:
    local_payments.sent(state="confirmed", verdict="correct")
    local_payments.destination.always_answer(Planned(500))
    assert local_payments.look(SUPPORT).reason == "probe_failed"
    assert local_payments.facts() == (0, "confirmed", "correct")


def test_a_waiting_retry_is_not_sent_again_once_the_effect_is_seen(local_payments: Payments) -> None:
    at = local_payments.now()
    local_payments.sent(state="retry_scheduled", next_attempt_at=at)
    local_payments.look(SUPPORT)
    assert local_payments.row().next_attempt_at == at
    local_payments.shows()
    local_payments.look(SUPPORT)
    assert local_payments.facts() == (1, "confirmed", "correct")


def test_what_is_being_sent_is_not_asked_about(local_payments: Payments) -> None:
    local_payments.sent(state="processing")
    with pytest.raises(LostRaceError, match="check_busy"):
        local_payments.look(SUPPORT)
    assert local_payments.destination.looks() == 0


def test_a_check_in_observe_mode_changes_nothing(local_payments: Payments) -> None:
    local_payments.under(mode=Mode.OBSERVE)
    local_payments.sent()
    local_payments.shows()
    found = local_payments.look(SUPPORT)
    assert (found.response, found.applied) == ("confirm", False)
    assert local_payments.facts() == (1, "awaiting_confirmation", None)
    assert local_payments.row().revision == 1


def test_who_may_not_check_is_refused_and_that_is_audited(local_payments: Payments) -> None:
    local_payments.sent()
    with pytest.raises(NotFoundError):
        local_payments.look(actor(Role.OPERATOR, tenant="loja-br"))
    with pytest.raises(NotFoundError):
        local_payments.look(actor(Role.ADMIN))
    with reading(local_payments.database) as session:
        assert [entry.outcome for entry in session.scalars(select(AuditEntry))] == ["refused", "refused"]
    assert local_payments.destination.looks() == 0
