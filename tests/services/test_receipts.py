from datetime import datetime, timedelta

import pytest

from dashboard.db import Database, clock, reading
from dashboard.domain.received import Match
from dashboard.services import audit
from dashboard.services.receipts import MOST_TOLD, Message, ReceiptRefusedError, Taken, take_receipt
from tests.receiving import (
    ENVIRONMENT,
    add_charge,
    add_payment,
    audited,
    bank_message,
    cards_message,
    events,
    items,
    operation,
    policies,
)


def now(database: Database) -> datetime:
    with reading(database) as session:
        return clock(session)


def take(
    database: Database,
    destination: str,
    message: tuple[bytes, dict[str, str]],
    *,
    address: str = "192.0.2.1",
    environment: dict[str, str] = ENVIRONMENT,
) -> Taken:
    body, headers = message
    return take_receipt(
        database, Message(destination, headers, body, address), policies=policies(), environment=environment
    )


def refusal(database: Database, destination: str, message: tuple[bytes, dict[str, str]], **options: str) -> str:
    with pytest.raises(ReceiptRefusedError) as refused:
        take(database, destination, message, **options)  # type: ignore[arg-type]
    return refused.value.code


def test_a_receipt_confirms_its_operation(database: Database) -> None:
    charged = add_charge(database)
    signed = cards_message(now(database), amount="318.93", metadata={"operation_id": charged})
    assert take(database, "cards", signed) == Taken("evt_1", new=True, match=Match.MATCHED)
    assert operation(database, charged).state == "confirmed"
    assert [event.kind for event in events(database, charged)] == ["probe", "transition"]


def test_a_receipt_that_comes_twice_changes_nothing_more(database: Database) -> None:
    charged = add_charge(database)
    signed = cards_message(now(database), amount="318.93", metadata={"operation_id": charged})
    take(database, "cards", signed)
    assert not take(database, "cards", signed).new
    assert (len(items(database)), len(events(database, charged)), len(audited(database, "receipt"))) == (1, 2, 1)


def test_a_receipt_is_believed_before_the_visibility_lag_is_over(database: Database) -> None:
    sent = now(database)
    paid = add_payment(database, created_at=sent, state_since=sent, deadline_at=sent + timedelta(days=1))
    take(database, "bank", bank_message(sent, reference=paid, id="tx-1", amount="318.93"))
    assert operation(database, paid).state == "confirmed"


def test_a_receipt_that_differs_goes_to_a_person(database: Database) -> None:
    charged = add_charge(database)
    take(database, "cards", cards_message(now(database), amount="1", metadata={"operation_id": charged}))
    assert operation(database, charged).state == "manual_review"


def test_two_receipts_of_two_effects_are_several_candidates(database: Database) -> None:
    paid = add_payment(database, state="manual_review")
    for number in ("1", "2"):
        message = bank_message(now(database), f"msg_{number}", reference=paid, id=f"tx-{number}", amount="318.93")
        take(database, "bank", message)
    assert (operation(database, paid).state, operation(database, paid).verdict) == ("manual_review", "ambiguous")


def test_a_receipt_of_nothing_we_know_is_kept(database: Database) -> None:
    taken = take(database, "bank", bank_message(now(database), reference="nobody", id="tx-1", amount="1"))
    assert (taken.match, [item.operation_id for item in items(database)]) == (Match.UNMATCHED, [None])


def test_what_is_not_vouched_for_leaves_one_refusal_and_nothing_else(database: Database) -> None:
    at = now(database)
    body, headers = bank_message(at, reference="op", id="tx-1")
    assert refusal(database, "nobody", (body, headers)) == "receipts_unconfigured"
    assert refusal(database, "bank", (body, {})) == "signature_missing"
    assert refusal(database, "bank", (body + b" ", headers)) == "signature_wrong"
    assert refusal(database, "bank", bank_message(at - timedelta(hours=1))) == "signature_old"
    told = audited(database, "receipt_refused")
    assert [(entry.subject, entry.outcome) for entry in told] == [
        ("(unknown destination)", "refused"),
        *[("bank", "refused")] * 3,
    ]
    assert items(database) == []
    with reading(database) as session:
        assert audit.verify(session).intact


def test_a_flood_cannot_fill_the_audit_log(sqlite_database: Database) -> None:
    for number in range(3 * MOST_TOLD):
        refusal(sqlite_database, f"nobody-{number}", (b"", {}))
        refusal(sqlite_database, "bank", (b"", {}), address=f"192.0.2.{number}")
    assert len(audited(sqlite_database, "receipt_refused")) == MOST_TOLD


def test_a_signed_message_that_is_none_of_ours_is_refused_with_the_fields(sqlite_database: Database) -> None:
    with pytest.raises(ReceiptRefusedError) as refused:
        take(sqlite_database, "bank", bank_message(now(sqlite_database), amount="1"))
    assert refused.value.code == "receipt_unreadable"
    assert refused.value.details == {"problems": {"message": "nothing_named"}}


def test_a_secret_that_is_not_set_lets_nobody_in(sqlite_database: Database) -> None:
    with pytest.raises(ReceiptRefusedError) as refused:
        take(sqlite_database, "bank", bank_message(now(sqlite_database), reference="x"), environment={})
    assert refused.value.code == "receipts_secret_unset"
