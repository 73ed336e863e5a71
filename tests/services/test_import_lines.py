from datetime import UTC, datetime
from typing import Any

import pytest

from dashboard.domain.errors import InvalidInputError
from dashboard.services.import_json import MAX_LINE_BYTES
from dashboard.services.import_lines import read_line
from tests.import_file import as_text, event, operation, record

NESTED = b'{"kind": "operation", "expected": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"


@pytest.mark.parametrize(
    ("line", "field", "code"),
    [
        (b'{"kind": "operation", "tenant": ', "", "not_json"),
        (b"[]", "", "not_an_object"),
        (b'"text"', "", "not_an_object"),
        (b'{"kind": "event", "reason": "caf\xc3', "", "not_utf8"),
        (b'{"kind": "event", "kind": "event"}', "kind", "duplicate_name"),
        (b'{"kind": "event", "evidence": {"a": 1, "a": 2}}', "a", "duplicate_name"),
        (b" " * (MAX_LINE_BYTES + 1), "", "line_too_long"),
        (NESTED, "", "too_deep"),
        ({"operation_id": "op-1"}, "kind", "kind_missing"),
        ({"kind": "widget"}, "kind", "kind_unknown"),
        ({"kind": ["operation"]}, "kind", "kind_unknown"),
        (operation(tenant=None), "tenant", "string_type"),
        (operation(tenant=""), "tenant", "string_too_short"),
        (operation(tenant="x" * 65), "tenant", "string_too_long"),
        (operation(entity_id="x" * 129), "entity_id", "string_too_long"),
        (operation(operation_id="has space"), "operation_id", "operation_id_invalid"),
        (operation(operation_id="x" * 129), "operation_id", "operation_id_invalid"),
        (operation(operation_id="op-1\n"), "operation_id", "operation_id_invalid"),
        (operation(state="finished"), "state", "enum"),
        (operation(verdict="maybe"), "verdict", "enum"),
        (operation(cause="bad luck"), "cause", "enum"),
        (operation(colour="red"), "colour", "extra_forbidden"),
        (operation(entity_id="a\x00b"), "entity_id", "text_nul"),
        (operation(entity_id="\ud800"), "entity_id", "text_surrogate"),
        (operation(expected={"a": ["\ud800"]}), "expected", "text_surrogate"),
        (operation(expected={"\x00": 1}), "expected", "text_nul"),
        (operation(expected=[1]), "expected", "dict_type"),
        (operation(expected={"a": float("nan")}), "expected", "number_lost"),
        (operation(created_at="2026-11-30T10:00:00"), "created_at", "time_naive"),
        (operation(created_at="yesterday"), "created_at", "time_invalid"),
        (operation(created_at=1764496800), "created_at", "time_invalid"),
        (operation(created_at="0001-01-01T00:00:00+14:00"), "created_at", "time_range"),
        (operation(deadline_at="9999-12-31T23:59:59-12:00"), "deadline_at", "time_range"),
        (operation(amount="10.00"), "currency", "amount_alone"),
        (operation(currency="EUR"), "amount", "amount_alone"),
        (operation(amount="NaN", currency="EUR"), "amount", "amount_invalid"),
        (operation(amount="1e3", currency="EUR"), "amount", "amount_invalid"),
        (operation(amount=10.5, currency="EUR"), "amount", "string_type"),
        (operation(amount="10", currency="euro"), "currency", "currency_invalid"),
        (operation(attempts=True), "attempts", "int_type"),
        (operation(attempts="1"), "attempts", "int_type"),
        (operation(attempts=-1), "attempts", "greater_than_equal"),
        (operation(expected_version=2**63), "expected_version", "less_than_equal"),
        (event(seq=0), "seq", "greater_than_equal"),
        (event(seq=2**31), "seq", "less_than_equal"),
        (event(event="party"), "event", "enum"),
        (record(state="done"), "state", "string_pattern_mismatch"),
        (record(response_status=42), "response_status", "greater_than_equal"),
        (record(response_headers=[["Location"]]), "response_headers.0", "too_short"),
    ],
)
def test_a_bad_line_names_its_field_and_reason(line: object, field: str, code: str) -> None:
    with pytest.raises(InvalidInputError) as refused:
        read_line(as_text(line), number=7)
    assert [(problem.field, problem.code) for problem in refused.value.problems] == [(field, code)]


@pytest.mark.parametrize("name", ["operation_id", "tenant", "type", "entity_type", "entity_id", "destination", "state"])
def test_an_operation_without_a_required_field_is_refused(name: str) -> None:
    line = operation()
    del line[name]
    with pytest.raises(InvalidInputError) as refused:
        read_line(as_text(line), number=1)
    assert [(problem.field, problem.code) for problem in refused.value.problems] == [(name, "missing")]


def test_every_bad_field_is_named() -> None:
    with pytest.raises(InvalidInputError) as refused:
        read_line(as_text(operation(state="finished", colour="red")), number=1)
    assert {problem.field for problem in refused.value.problems} == {"state", "colour"}


@pytest.mark.parametrize("number", [b"1e999", b"0.1000000000000000000001", b"9" * 5000])
def test_a_number_that_would_be_rounded_is_refused(number: bytes) -> None:
    line = as_text(operation(expected={"a": "here"})).replace(b'"here"', number)
    with pytest.raises(InvalidInputError) as refused:
        read_line(line, number=1)
    assert refused.value.problems[0].field == "expected"


@pytest.mark.parametrize("number", [0.1, 10.0, 1e21, 2**62, -3])
def test_a_number_that_is_kept_exactly_is_taken(number: float) -> None:
    assert read_line(as_text(operation(expected={"a": number})), number=1).fields["expected"] == {"a": number}


@pytest.mark.parametrize(
    "text", ["2026-11-30T10:00:00Z", "2026-11-30T11:00:00+01:00", "2026-11-30 10:00:00.000000000Z"]
)
def test_times_are_read_as_utc(text: str) -> None:
    at: Any = read_line(as_text(operation(created_at=text)), number=1).fields["created_at"]
    assert at == datetime(2026, 11, 30, 10, tzinfo=UTC)
    assert at.tzinfo is UTC
