"""What the probes `file` and `receipt` answer from what is kept; nobody is asked."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from dashboard.adapters.probes.received import answer_from
from dashboard.domain.answers import Answer, Question
from dashboard.domain.evidence_sources import EvidenceFile, FileFormat
from dashboard.domain.policy import Destination, ProbeRule
from dashboard.domain.received import Received, Source

NOW = datetime(2026, 11, 30, 12, 0, 0, tzinfo=UTC)
QUESTION = Question("op-1", "tienda-es", "pay_supplier", "order", "452", NOW)
FILES = EvidenceFile(FileFormat.CSV, {}, present="status == 'settled'")
BANK = Destination("bank", evidence=FILES)
LINE = Received(Source.FILE, "e1", {"remote_id": "tx-1", "status": "settled"}, "day.csv", "hash")


def ask(
    *items: Received,
    kind: str = "file",
    authoritative: bool = False,
    covered_until: datetime | None = None,
    destination: Destination = BANK,
) -> Answer:
    rule = ProbeRule(kind, {"authoritative": authoritative} if authoritative else {})
    return answer_from(items, rule, destination, QUESTION, covered_until=covered_until)


def test_silence_proves_nothing_unless_files_name_everything() -> None:
    assert not ask().authoritative
    assert not ask(kind="receipt", authoritative=True).authoritative
    covered = ask(authoritative=True, covered_until=NOW - timedelta(hours=1))
    assert (covered.authoritative, covered.as_of, covered.candidates) == (True, NOW - timedelta(hours=1), ())


def test_files_that_carry_no_times_never_cover_anything() -> None:
    assert ask(authoritative=True).as_of is None


def test_a_time_of_theirs_is_never_newer_than_our_now() -> None:
    assert ask(authoritative=True, covered_until=NOW + timedelta(days=1)).as_of == NOW


def test_the_newest_word_about_an_effect_counts_whatever_the_order() -> None:
    reversal = replace(
        LINE, event_id="e2", content={"remote_id": "tx-1", "status": "reversed"}, occurred_at=NOW - timedelta(hours=1)
    )
    settled = replace(LINE, occurred_at=NOW - timedelta(hours=2))
    answer = ask(reversal, settled)
    assert (answer.candidates, answer.as_of) == ((), NOW - timedelta(hours=1))


def test_a_denial_of_one_effect_does_not_hide_another() -> None:
    failed = replace(LINE, event_id="e2", content={"status": "failed"})
    answer = ask(failed, LINE)
    assert (len(answer.candidates), answer.remote_id) == (1, "tx-1")


def test_a_receipt_of_another_effect_is_seen_beside_the_file() -> None:
    receipt = replace(LINE, source=Source.RECEIPT, event_id="r1", content={"remote_id": "tx-2"})
    assert len(ask(LINE, receipt).candidates) == 2
    assert len(ask(LINE, replace(receipt, content={"remote_id": "tx-1"})).candidates) == 1


def test_a_receipt_without_an_id_cannot_be_told_apart_and_is_left_out() -> None:
    receipt = replace(LINE, source=Source.RECEIPT, event_id="r1", content={})
    assert len(ask(LINE, receipt).candidates) == 1


def test_an_expression_that_fails_is_a_failed_look() -> None:
    broken = Destination("bank", evidence=replace(FILES, present="abs(status) > `1`"))
    assert ask(LINE, destination=broken).failed == "expression_failed"
