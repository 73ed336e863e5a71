"""A policy is told whole, and what is dangerous is told plainly."""

from datetime import timedelta
from decimal import Decimal

from dashboard.domain.explaining import Section, explain
from dashboard.domain.policy import Approvals, Destination, Mode, Policies, ProbeRule, TypePolicy
from dashboard.web.policy_words import SENTENCES

ASKED = ProbeRule("http", {"path": "/a/{operation_id}"})


def codes(policy: TypePolicy, destination: Destination | None = None) -> list[str]:
    destinations = {destination.name: destination} if destination else {}
    policies = Policies(types={"charge": policy}, destinations=destinations)
    return [statement.code for statement in explain(policies, "charge")]


def test_every_part_is_told() -> None:
    told = explain(Policies(types={"charge": TypePolicy(probe=ASKED)}), "charge")
    assert list(dict.fromkeys(statement.section for statement in told)) == list(Section)


def test_a_destination_that_honours_no_key_makes_a_retry_dangerous() -> None:
    assert "destination_repeats" in codes(TypePolicy(destination="bank"))
    assert "destination_honours" in codes(
        TypePolicy(destination="bank"), Destination("bank", honours_idempotency_key=True)
    )


def test_absence_is_told_by_what_proves_it() -> None:
    lagging = TypePolicy(destination="bank", probe=ASKED, visibility_lag=timedelta(minutes=1))
    assert "absence_twice" in codes(lagging)
    assert "absence_once" in codes(lagging, Destination("bank", honours_idempotency_key=True))
    assert "absence_never" in codes(TypePolicy(probe=ProbeRule("receipt")))
    assert "absence_never" in codes(TypePolicy(probe=ProbeRule("file", {"authoritative": False})))


def test_what_cannot_be_asked_is_not_said_to_be_checked() -> None:
    told = codes(TypePolicy())
    assert "probe_none" in told
    assert not {"window", "lag", "absence_once"} & set(told)


def test_people_are_told_with_limits() -> None:
    approvals = Approvals({"requeue": 0, "compensate": 1, "confirm": 2}, manager_above={"EUR": Decimal(500)})
    told = codes(TypePolicy(approvals=approvals, compensation="refund", mode=Mode.OBSERVE))
    expected = {
        "approval_none",
        "approval_one",
        "approval_several",
        "approval_expires",
        "manager_above",
        "compensation",
    }
    assert expected | {"mode_observe"} <= set(told)


def test_every_statement_has_words() -> None:
    rules = [ProbeRule(kind, {"cancelled": "a"}) for kind in ("http", "sql", "python", "file", "receipt")]
    told = {code for rule in [None, *rules] for code in codes(TypePolicy(probe=rule, destination="bank"))}
    assert told - set(SENTENCES) == set()
