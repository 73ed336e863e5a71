"""What is wrong with a line is told by number, field and reason, and stops no other."""

import pytest

from dashboard.db import Database
from tests.receiving import add_charge, add_payment, codes, operation, settlement, take_in

BAD_ROWS = (
    (b"only,three,cells", "", "cells_miscounted"),
    (b'ok,"tx,1,settled', "", "row_unreadable"),
    (b",,1,settled", "", "nothing_named"),
    (b"nul\x00,tx,1,settled", "operation_id", "text_nul"),
    (b"\xff,tx,1,settled", "", "not_decodable"),
    (b"x" * 129 + b",tx,1,settled", "operation_id", "string_too_long"),
)
BAD_OBJECTS = (
    (b"[]", "", "not_an_object"),
    (b'{"key": ', "", "not_json"),
    (b'{"key": "k", "key": "k"}', "key", "duplicate_name"),
    (b'{"key": "k", "amount": NaN}', "amount", "number_lost"),
    (b'{"key": true}', "idempotency_key", "name_invalid"),
    (b'{"key": ["k"]}', "idempotency_key", "name_invalid"),
    (b'{"key": "k", "at": "2026-11-30T10:00:00"}', "occurred_at", "moment_unreadable"),
    (b'{"key": "k", "at": "soon"}', "occurred_at", "moment_unreadable"),
    (b"{}", "", "nothing_named"),
)


@pytest.mark.parametrize(("row", "field", "code"), BAD_ROWS)
def test_a_bad_row_is_told_and_stops_no_other(sqlite_database: Database, row: bytes, field: str, code: str) -> None:
    paid = add_payment(sqlite_database)
    good = settlement((paid, "tx-1", "318.93", "settled"))
    _, rejected = take_in(sqlite_database, good + b"\r\n" + row)
    assert codes(rejected) == [(3, field, code)]
    assert operation(sqlite_database, paid).state == "confirmed"


@pytest.mark.parametrize(("line", "field", "code"), BAD_OBJECTS)
def test_a_bad_object_is_told(sqlite_database: Database, line: bytes, field: str, code: str) -> None:
    _, rejected = take_in(sqlite_database, line, destination="cards")
    assert (1, field, code) in codes(rejected)


def test_a_quoted_cell_may_hold_line_ends_and_blank_lines_are_skipped(sqlite_database: Database) -> None:
    paid = add_payment(sqlite_database, expected={"amount": "318.93"})
    content = settlement() + f'\n\n"{paid}","tx\n1","318.93",settled\n\nbad\n'.encode()
    _, rejected = take_in(sqlite_database, content)
    assert codes(rejected) == [(6, "", "cells_miscounted")]
    assert operation(sqlite_database, paid).state == "confirmed"


def test_a_row_without_an_end_does_not_fill_the_memory(sqlite_database: Database) -> None:
    content = settlement() + b'\r\n"' + b"x" * 2_000_000
    _, rejected = take_in(sqlite_database, content)
    assert codes(rejected)[0][2] == "line_too_long"


def test_numbers_name_operations_and_seconds_are_times(sqlite_database: Database) -> None:
    charged = add_charge(sqlite_database, idempotency_key="452")
    take_in(sqlite_database, b'{"key": 452, "id": 7, "amount": 318.93, "at": 1764500000}', destination="cards")
    assert (operation(sqlite_database, charged).state, operation(sqlite_database, charged).remote_id) == (
        "confirmed",
        "7",
    )
