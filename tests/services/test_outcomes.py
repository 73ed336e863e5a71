"""Outcomes: a later look says whether what somebody did had the effect they meant."""

from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import select, update

from dashboard.db import clock, reading, transact
from dashboard.domain.actions import ActionName
from dashboard.domain.permissions import Role
from dashboard.domain.policy import Window
from dashboard.models import Action, Operation
from dashboard.services.actions import ActionForm, ActionRequest, perform
from tests import factories
from tests.reconciling import Payments

OPERATOR = factories.actor(Role.OPERATOR)
REASONS = {"requeue": "effect_absent", "confirm": "seen_at_destination", "close": "cancelled", "compensate": "other"}


def decided(shop: Payments, action: str) -> None:
    """An operation in review whose effect is proven absent, about which an operator decides."""
    shop.under(window=Window(timedelta()), visibility_lag=timedelta())
    shop.sent(state="manual_review", **factories.proven_absent())
    form = ActionForm("form-1", 1, REASONS[action], factories.NOTE)
    perform(shop.database, ActionRequest(OPERATOR, "op-1", ActionName(action), shop.policies), form)


def sent_now(shop: Payments, operation_id: str = "op-1") -> None:
    """A worker has sent it and does not know the answer."""

    def unit(session: Any) -> None:
        row = session.scalars(select(Operation).where(Operation.operation_id == operation_id)).one()
        session.execute(update(Operation).where(Operation.id == row.id).values(state="awaiting_confirmation"))
        moved = {"kind": "transition", "from_state": "processing", "to_state": "awaiting_confirmation"}
        factories.event(session, row, seq=99, at=clock(session), evidence=None, **moved)

    transact(shop.database, unit)


def outcome(shop: Payments) -> tuple[str | None, bool]:
    """The outcome of the action, and whether the time of its grading is kept."""
    with reading(shop.database) as session:
        action = session.scalars(select(Action)).one()
    return action.outcome, action.verified_at is not None


def test_a_requeue_is_verified_by_the_look_that_finds_its_effect(payments: Payments) -> None:
    decided(payments, "requeue")
    sent_now(payments)
    payments.shows()
    payments.look(OPERATOR)
    assert (outcome(payments), payments.facts()) == (("verified", True), (1, "confirmed", "correct"))


def test_a_requeue_that_was_not_sent_yet_has_not_failed(local_payments: Payments) -> None:
    decided(local_payments, "requeue")
    local_payments.look(OPERATOR)
    assert outcome(local_payments) == ("to_verify", False)


def test_a_requeue_that_was_sent_and_is_still_absent_had_no_effect(payments: Payments) -> None:
    decided(payments, "requeue")
    sent_now(payments)
    payments.look(OPERATOR)
    assert outcome(payments) == ("no_effect", True)


def test_an_effect_that_shows_late_is_verified_after_all(local_payments: Payments) -> None:
    decided(local_payments, "requeue")
    sent_now(local_payments)
    local_payments.look(OPERATOR)
    local_payments.shows()
    local_payments.look(OPERATOR)
    assert outcome(local_payments) == ("verified", True)


def test_two_effects_are_called_what_they_are(local_payments: Payments) -> None:
    decided(local_payments, "requeue")
    sent_now(local_payments)
    local_payments.shows()
    local_payments.shows()
    local_payments.look(OPERATOR)
    assert outcome(local_payments) == ("duplicated", True)


@pytest.mark.parametrize("shown", [(), ({"amount": "1.00"},)])
def test_a_confirmation_is_contradicted_by_a_look_that_finds_less(
    local_payments: Payments, shown: tuple[dict[str, str], ...]
) -> None:
    decided(local_payments, "confirm")
    assert outcome(local_payments) == (None, False)
    for fields in shown:
        local_payments.shows(**fields)
    local_payments.look(OPERATOR)
    assert (outcome(local_payments), local_payments.row().state) == (("no_effect", True), "manual_review")


def test_a_confirmation_is_borne_out_by_a_look_that_finds_it(local_payments: Payments) -> None:
    decided(local_payments, "confirm")
    local_payments.shows()
    local_payments.look(OPERATOR)
    assert outcome(local_payments) == ("verified", True)


def test_a_closing_is_contradicted_by_an_effect_that_exists(local_payments: Payments) -> None:
    decided(local_payments, "close")
    local_payments.shows()
    local_payments.look(OPERATOR)
    assert (outcome(local_payments), local_payments.row().state) == (("no_effect", True), "not_applicable")


def test_a_look_that_finds_what_was_known_voids_nothing_that_people_prepared(local_payments: Payments) -> None:
    local_payments.under(visibility_lag=timedelta())
    local_payments.sent(state="manual_review", **factories.proven_absent())
    local_payments.look(OPERATOR)
    assert (local_payments.row().revision, local_payments.row().lease_token) == (1, None)
    local_payments.shows(amount="1.00")
    local_payments.look(OPERATOR)
    assert local_payments.row().revision == 2
