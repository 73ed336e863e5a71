from dataclasses import replace

import pytest

from dashboard.db import Database, reading, transaction
from dashboard.domain.errors import InvalidInputError, NotFoundError
from dashboard.models import IdempotencyRecord, Operation
from dashboard.services import audit
from dashboard.services.evidence_looks import take_up
from tests import factories
from tests.receiving import (
    ACTOR,
    POLICY,
    add_charge,
    add_payment,
    audited,
    codes,
    events,
    items,
    operation,
    policies,
    settlement,
    take_in,
)


def test_a_line_that_agrees_confirms_its_operation(database: Database) -> None:
    paid = add_payment(database)
    summary, rejected = take_in(database, settlement((paid, "tx-1", "318.93", "settled")))
    found = operation(database, paid)
    assert (found.state, found.verdict, found.remote_id) == ("confirmed", "correct", "tx-1")
    assert (summary.verdicts["correct"], summary.changed, rejected) == (1, 1, [])


def test_the_probe_event_names_file_line_and_hash(database: Database) -> None:
    paid = add_payment(database)
    take_in(database, settlement((paid, "tx-1", "318.93", "settled")))
    probe, moved = events(database, paid)
    assert probe.evidence is not None
    [told] = probe.evidence["received"]
    assert (probe.kind, probe.actor_kind, moved.to_state) == ("probe", "system", "confirmed")
    assert (told["origin"], told["line"], told["raw_hash"]) == ("settlement.csv", 2, items(database)[0].raw_hash)


def test_taking_a_file_in_twice_changes_nothing(database: Database) -> None:
    paid = add_payment(database)
    content = settlement((paid, "tx-1", "318.93", "settled"), ("nobody", "tx-2", "1.00", "settled"))
    take_in(database, content)
    before = operation(database, paid).revision, len(events(database, paid)), len(items(database))
    summary, rejected = take_in(database, content)
    assert (operation(database, paid).revision, len(events(database, paid)), len(items(database))) == before
    assert (summary.new, summary.verdicts.total(), codes(rejected)) == (0, 0, [(3, "", "evidence_unmatched")])


def test_a_line_that_differs_goes_to_a_person(database: Database) -> None:
    paid = add_payment(database)
    take_in(database, settlement((paid, "tx-1", "381.93", "settled")))
    assert (operation(database, paid).state, operation(database, paid).verdict) == ("manual_review", "divergent")


def test_the_same_line_twice_in_a_file_may_be_two_effects(database: Database) -> None:
    paid = add_payment(database)
    summary, _ = take_in(database, settlement(*[(paid, "", "318.93", "settled")] * 2))
    assert (summary.new, operation(database, paid).state) == (2, "manual_review")


def test_two_words_about_one_effect_are_one_effect(database: Database) -> None:
    paid = add_payment(database)
    take_in(database, settlement((paid, "tx-1", "318.93", "pending"), (paid, "tx-1", "318.93", "settled")))
    assert operation(database, paid).state == "confirmed"


def test_a_called_off_effect_closes_its_operation(database: Database) -> None:
    paid = add_payment(database)
    take_in(database, settlement((paid, "tx-1", "318.93", "void")))
    assert (operation(database, paid).state, operation(database, paid).closed_reason) == ("not_applicable", "cancelled")


def test_a_denial_without_a_time_proves_nothing(database: Database) -> None:
    paid = add_payment(database)
    take_in(database, settlement((paid, "tx-1", "318.93", "failed")))
    assert (operation(database, paid).state, operation(database, paid).verdict) == ("manual_review", "ambiguous")


@pytest.mark.parametrize("state", ["retry_scheduled", "manual_review"])
def test_what_exists_is_never_sent_again(database: Database, state: str) -> None:
    paid = add_payment(database, state=state)
    take_in(database, settlement((paid, "tx-1", "318.93", "settled")))
    assert operation(database, paid).state == "confirmed"


def test_the_key_is_settled_with_its_operation(database: Database) -> None:
    paid = add_payment(database)
    with transaction(database) as session:
        session.add(
            IdempotencyRecord(
                tenant="tienda-es", operation="pay_supplier", key="k", fingerprint="f" * 64, state="pending",
                operation_id=paid, created_at=factories.NOW, updated_at=factories.NOW, lease_until=factories.NOW,
            )
        )  # fmt: skip
    take_in(database, settlement((paid, "tx-1", "318.93", "settled")))
    with reading(database) as session:
        assert session.query(IdempotencyRecord.state).scalar() == "completed"


def test_an_observing_policy_leaves_only_a_finding(database: Database) -> None:
    paid = add_payment(database)
    observing = policies(POLICY.replace('destination = "bank"\n', 'destination = "bank"\nmode = "observe"\n'))
    summary, _ = take_in(database, settlement((paid, "tx-1", "318.93", "settled")), rules=observing)
    assert (operation(database, paid).state, operation(database, paid).revision) == ("awaiting_confirmation", 1)
    assert (summary.verdicts["correct"], summary.changed, events(database, paid)) == (1, 0, [])


def test_a_line_of_two_operations_is_kept_and_not_guessed(database: Database) -> None:
    first, second = (add_charge(database, idempotency_key="k", tenant=tenant) for tenant in ("tienda-es", "loja-br"))
    _, rejected = take_in(database, b'{"key": "k", "id": "ch_1", "amount": "318.93"}\n', destination="cards")
    assert codes(rejected) == [(1, "", "evidence_several")]
    assert [operation(database, each).state for each in (first, second)] == ["awaiting_confirmation"] * 2
    assert [(item.match, item.operation_id) for item in items(database)] == [("several", None)]


def test_names_that_contradict_each_other_match_nothing(database: Database) -> None:
    paid, other = add_payment(database), add_payment(database, remote_id="tx-9")
    _, rejected = take_in(database, settlement((paid, "tx-9", "318.93", "settled"), ("nobody", "tx-9", "1", "settled")))
    assert codes(rejected) == [(2, "", "evidence_several"), (3, "", "evidence_unmatched")]
    assert operation(database, other).state == "awaiting_confirmation"


def test_an_operation_of_another_destination_is_not_matched(database: Database) -> None:
    elsewhere = add_payment(database, destination="mail")
    _, rejected = take_in(database, settlement((elsewhere, "", "318.93", "settled")))
    assert codes(rejected) == [(2, "", "evidence_unmatched")]


def test_a_line_whose_operation_came_later_is_judged_in_the_next_round(database: Database) -> None:
    take_in(database, settlement(("late-1", "tx-1", "318.93", "settled")))
    add_payment(database, operation_id="late-1")
    assert take_up(database, policies=policies(), actor=ACTOR)
    assert operation(database, "late-1").state == "confirmed"
    assert not take_up(database, policies=policies(), actor=ACTOR)


def test_an_operation_that_a_worker_holds_waits_for_the_next_round(database: Database) -> None:
    sending = add_payment(database, state="processing")
    summary, _ = take_in(database, settlement((sending, "tx-1", "318.93", "settled")))
    assert (summary.held, items(database)[0].judged_at) == (1, None)
    with transaction(database) as session:
        session.query(Operation).update({"state": "awaiting_confirmation"})
    assert take_up(database, policies=policies(), actor=ACTOR)
    assert operation(database, sending).state == "confirmed"


def test_a_type_that_is_asked_otherwise_takes_the_word_of_a_file_too(database: Database) -> None:
    paid = add_payment(database)
    rules = policies()
    asked = replace(rules.of("pay_supplier"), probe=None)
    take_in(
        database,
        settlement((paid, "tx-1", "318.93", "settled")),
        rules=replace(rules, types={"pay_supplier": asked}),
    )
    assert operation(database, paid).state == "confirmed"


def test_a_run_leaves_one_audit_entry_and_the_chain_holds(database: Database) -> None:
    paid = add_payment(database)
    take_in(database, settlement((paid, "tx-1", "318.93", "settled"), ("nobody", "", "1", "settled")))
    [entry] = audited(database, "evidence_import")
    assert entry.subject == "settlement.csv"
    assert entry.after is not None
    assert '"unmatched":1' in entry.after
    with reading(database) as session:
        assert audit.verify(session).intact


def test_an_event_id_with_another_content_changes_nothing(database: Database) -> None:
    charged = add_charge(database, idempotency_key="k")
    take_in(database, b'{"event": "e1", "key": "k", "id": "ch_1", "amount": "318.93"}', destination="cards")
    _, rejected = take_in(database, b'{"event": "e1", "key": "k", "id": "ch_1", "amount": "1"}', destination="cards")
    assert codes(rejected) == [(1, "event_id", "event_id_reused")]
    assert operation(database, charged).state == "confirmed"


def test_a_destination_without_result_files_is_refused(database: Database) -> None:
    with pytest.raises(NotFoundError):
        take_in(database, b"", destination="mail")


def test_a_file_without_the_columns_of_the_policy_is_refused(database: Database) -> None:
    with pytest.raises(InvalidInputError) as refused:
        take_in(database, b"Reference,Amount\n")
    assert [problem.field for problem in refused.value.problems] == ["Transaction", "Status"]
