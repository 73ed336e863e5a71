"""Faults 11 and 12: the destination holds a newer version; the entity was cancelled meanwhile."""

from datetime import timedelta

from dashboard.db import clock, transact
from dashboard.domain.policy import Comparison, FieldKind
from tests import factories
from tests.reconciling import Payments

VERSION = Comparison("version", "version", "metadata.version", FieldKind.INTEGER)


def test_a_newer_version_is_divergent_and_nothing_is_overwritten(payments: Payments) -> None:
    payments.under(compare=(VERSION,))
    payments.sent(expected={"version": 6}, expected_version=6)
    payments.shows(metadata={"version": 7})
    payments.reconcile()
    assert payments.facts() == (1, "manual_review", "divergent")
    assert payments.destination.effects[0]["metadata"] == {"version": 7}
    assert {method for method, _, _ in payments.destination.requests} == {"GET"}
    assert (payments.events()[0].evidence or {})["differences"] == [
        {"field": "version", "expected": 6, "actual": 7, "differs": True}
    ]


def test_what_was_cancelled_at_the_destination_is_closed(payments: Payments) -> None:
    payments.asks(cancelled="status == 'cancelled'")
    payments.sent()
    payments.shows(status="cancelled")
    payments.reconcile()
    assert payments.facts() == (1, "not_applicable", "not_applicable")
    assert payments.row().closed_reason == "cancelled"


def test_a_newer_confirmed_version_makes_an_older_copy_needless(payments: Payments) -> None:
    payments.under(financial=False)
    payments.sent(expected_version=6)
    _confirmed(payments, version=7)
    payments.reconcile()
    assert payments.facts() == (0, "not_applicable", "not_applicable")
    assert payments.row().closed_reason == "superseded"


def test_money_that_may_have_moved_is_never_waved_through(payments: Payments) -> None:
    payments.sent(expected_version=6)
    payments.shows(amount="1.00")
    _confirmed(payments, version=7)
    payments.reconcile()
    assert payments.facts() == (1, "manual_review", "divergent")


def _confirmed(payments: Payments, *, version: int) -> None:
    transact(
        payments.database,
        lambda session: factories.operation(
            session,
            operation_id="op-newer",
            state="confirmed",
            expected_version=version,
            confirmed_at=clock(session) - timedelta(minutes=1),
        ),
    )
