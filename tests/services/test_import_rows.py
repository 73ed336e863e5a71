from datetime import UTC, datetime, timedelta
from pathlib import Path

from sqlalchemy import select, text

from dashboard.db import Database, reading, transact
from dashboard.domain.policy import Policies, TypePolicy
from dashboard.models import AuditEntry, IdempotencyRecord, Operation, OperationEvent
from dashboard.services import audit
from tests.import_file import AT, counted, event, import_file, operation, record, write


def test_importing_twice_changes_nothing(database: Database, tmp_path: Path) -> None:
    path = write(tmp_path / "shop.jsonl", operation(), event(), event(seq=2), record())
    first, _ = import_file(database, path)
    second, _ = import_file(database, path)
    assert first.new == {"operation": 1, "event": 2, "idempotency": 1}
    assert (second.new.total(), second.existing.total()) == (0, 4)
    assert counted(database) == (1, 2, 1)


def test_a_line_that_is_there_keeps_what_it_says(database: Database, tmp_path: Path) -> None:
    import_file(database, write(tmp_path / "a.jsonl", operation(state="pending")))
    import_file(database, write(tmp_path / "b.jsonl", operation(state="confirmed")))
    with reading(database) as session:
        assert session.scalars(select(Operation.state)).all() == ["pending"]


def test_a_line_twice_in_a_file_is_taken_once(database: Database, tmp_path: Path) -> None:
    summary, _ = import_file(database, write(tmp_path / "a.jsonl", operation(), operation(), event(), event()))
    assert (summary.new.total(), summary.existing.total()) == (2, 2)
    assert counted(database) == (1, 1, 0)


def test_keys_that_differ_in_case_or_blanks_are_different(database: Database, tmp_path: Path) -> None:
    keys = ("Key", "key", "key ", "kéy")
    summary, _ = import_file(database, write(tmp_path / "a.jsonl", *(record(key=key) for key in keys)))
    assert summary.new["idempotency"] == 4


def test_an_event_of_an_unknown_operation_is_refused(database: Database, tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", event(), operation(), event(operation_id="nobody"))
    _, rejected = import_file(database, path)
    assert [(line.number, line.problems[0].field) for line in rejected] == [(1, "operation_id"), (3, "operation_id")]
    assert counted(database) == (1, 0, 0)


def test_a_parent_may_be_earlier_in_the_file_or_in_the_database(database: Database, tmp_path: Path) -> None:
    import_file(database, write(tmp_path / "a.jsonl", operation(operation_id="a")))
    path = write(
        tmp_path / "b.jsonl",
        operation(operation_id="b", parent="a"),
        operation(operation_id="c", parent="b"),
        operation(operation_id="d", parent="e"),
        operation(operation_id="e"),
    )
    _, rejected = import_file(database, path)
    with reading(database) as session:
        rows = {row.operation_id: row for row in session.scalars(select(Operation))}
    assert rows["b"].parent_id == rows["a"].id
    assert rows["c"].parent_id == rows["b"].id
    assert [(line.number, line.problems[0].field) for line in rejected] == [(3, "parent")]


def test_history_is_kept_as_given(database: Database, tmp_path: Path) -> None:
    line = operation(state="manual_review", attempts=4, verdict="absent", verdict_at=AT, amount="10.50", currency="EUR")
    import_file(database, write(tmp_path / "a.jsonl", line))
    with reading(database) as session:
        row = session.scalars(select(Operation)).one()
    assert (row.state, row.attempts, row.verdict, row.amount, row.revision) == (
        "manual_review",
        4,
        "absent",
        "10.50",
        1,
    )
    assert row.verdict_at == datetime(2026, 11, 14, 5, 8, 10, 678107, tzinfo=UTC)


def test_a_missing_deadline_is_that_of_the_policy(database: Database, tmp_path: Path) -> None:
    policies = Policies(types={"sync_customer": TypePolicy(deadline=timedelta(hours=3))})
    import_file(database, write(tmp_path / "a.jsonl", operation()), policies=policies)
    with reading(database) as session:
        row = session.scalars(select(Operation)).one()
    assert row.deadline_at - row.created_at == timedelta(hours=3)
    assert row.state_since == row.updated_at == row.created_at


def test_secrets_do_not_reach_the_tables(database: Database, tmp_path: Path) -> None:
    shown = {"authorization": "Bearer sk_live_abc", "expected": {"email": "a@example.com", "version": 2}}
    line = event(reason="sent Authorization: Bearer abcdef", evidence=shown)
    headers = record(response_headers=[["Set-Cookie", "session=1"], ["Location", "/orders/1"]])
    policies = Policies(defaults=TypePolicy(redact=("expected.email",)))
    import_file(database, write(tmp_path / "a.jsonl", operation(), line, headers), policies=policies)
    with reading(database) as session:
        row = session.scalars(select(OperationEvent)).one()
        kept = session.scalars(select(IdempotencyRecord.response_headers)).one()
    assert row.evidence == {"authorization": "[redacted]", "expected": {"email": "[redacted]", "version": 2}}
    assert "abcdef" not in (row.reason or "")
    assert kept == [["Set-Cookie", "[redacted]"], ["Location", "/orders/1"]]


def test_a_body_is_kept_byte_for_byte(database: Database, tmp_path: Path) -> None:
    body = '{"b":1,\r\n "a":"ñ €"} '
    import_file(database, write(tmp_path / "a.jsonl", record(response_body=body)))
    with reading(database) as session:
        row = session.scalars(select(IdempotencyRecord)).one()
    assert row.response_body == body.encode()
    assert row.lease_until == row.updated_at == row.created_at


def test_a_run_leaves_one_audit_entry(database: Database, tmp_path: Path) -> None:
    import_file(database, write(tmp_path / "shop.jsonl", operation(), b"[]"))
    with reading(database) as session:
        entry = session.scalars(select(AuditEntry)).one()
        assert audit.verify(session).intact
    assert (entry.action, entry.subject, entry.actor_id) == ("import", "shop.jsonl", "command line, test")
    assert entry.after == ('{"existing":{},"finished":true,"new":{"operation":1},"read":2,"rejected":{"other":1}}')


def test_the_newest_time_becomes_now(database: Database, tmp_path: Path) -> None:
    lines = (operation(deadline_at="2030-01-01T00:00:00Z"), event(at="2026-11-15T05:08:10Z"))
    import_file(database, write(tmp_path / "a.jsonl", *lines), shift_to_now=True)
    with reading(database) as session:
        row = session.scalars(select(Operation)).one()
        newest = session.scalars(select(OperationEvent.at)).one()
    assert timedelta(0) <= datetime.now(UTC) - newest < timedelta(minutes=1)
    assert newest - row.created_at == timedelta(days=1) - timedelta(microseconds=678107)


def test_a_row_the_database_refuses_is_the_only_one_lost(database: Database, tmp_path: Path) -> None:
    # Another program may add rules of its own to a table.
    transact(database, lambda session: session.execute(text(_rule(database.dialect))))
    lines = [operation(operation_id=f"op-{number}", attempts=number) for number in range(40)]
    summary, rejected = import_file(database, write(tmp_path / "a.jsonl", *lines))
    assert summary.new["operation"] == 39
    assert [(line.number, line.problems[0].code) for line in rejected] == [(14, "database_refused")]


def _rule(dialect: str) -> str:
    if dialect == "sqlite":
        return (
            "CREATE TRIGGER no_13 BEFORE INSERT ON operations WHEN NEW.attempts = 13 "
            "BEGIN SELECT RAISE(ABORT, 'not 13'); END"
        )
    return "ALTER TABLE operations ADD CONSTRAINT no_13 CHECK (attempts <> 13)"
