"""Result files of destinations, read row by row in bounded memory: separated values with a header, or JSON lines.

A row that cannot be read is given with the reason and stops no other. Separated values follow RFC 4180; a quoted field
may hold line ends.
"""

import csv
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import BinaryIO

from dashboard.domain.errors import InvalidInputError, Problem
from dashboard.domain.evidence_sources import EvidenceFile, FileFormat

MAX_ROW_BYTES = 1024 * 1024
BYTE_ORDER_MARK = b"\xef\xbb\xbf"


@dataclass(frozen=True)
class Row:
    """A row with the number of its first line; `cells` by column (csv only), or the `problem` with it."""

    number: int
    text: bytes
    cells: Mapping[str, str] | None = None
    problem: Problem | None = None


class _RowError(ValueError):
    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        super().__init__(problem.code)


def read_rows(source: BinaryIO, layout: EvidenceFile) -> Iterator[Row]:
    """Give the rows that are not blank; InvalidInputError where a mapped column is not in the header."""
    lines = _Lines(source, layout.encoding)
    if layout.format is FileFormat.CSV:
        yield from _separated(lines, layout)
        return
    while text := lines.pull():
        if len(text) > MAX_ROW_BYTES:
            yield Row(lines.number, text, problem=_too_long())
        elif text.strip():
            yield Row(lines.number, text)


def _separated(lines: "_Lines", layout: EvidenceFile) -> Iterator[Row]:
    header = _header(lines, layout)
    while True:
        lines.begin()
        number = lines.number + 1
        try:
            values = next(_reader(lines, layout))
        except StopIteration:
            return
        except (csv.Error, _RowError) as error:
            yield Row(number, lines.text, problem=_problem(error))
        else:
            if any(value.strip() for value in values):
                yield _row(number, lines.text, header, values)


def _header(lines: "_Lines", layout: EvidenceFile) -> Sequence[str]:
    try:
        header = [name.strip() for name in next(_reader(lines, layout), [])]
    except (csv.Error, _RowError) as error:
        raise InvalidInputError((_problem(error),)) from error
    missing = [name for name in layout.columns.values() if name not in header]
    twice = [name for name in layout.columns.values() if header.count(name) > 1]
    if missing or twice:
        problems = [Problem(name, "column_missing", {"allowed": tuple(header)}) for name in missing]
        raise InvalidInputError((*problems, *(Problem(name, "column_twice") for name in twice)))
    return header


def _row(number: int, text: bytes, header: Sequence[str], values: Sequence[str]) -> Row:
    if len(values) != len(header):
        details = {"count": len(values), "expected": len(header)}
        return Row(number, text, problem=Problem("", "cells_miscounted", details))
    return Row(number, text, cells=dict(zip(header, values, strict=True)))


def _reader(lines: "_Lines", layout: EvidenceFile) -> Iterator[list[str]]:
    # One reader a row: after an error the state of a reader is that of the broken row.
    return csv.reader(lines, delimiter=layout.delimiter, strict=True)


def _problem(error: Exception) -> Problem:
    return error.problem if isinstance(error, _RowError) else Problem("", "row_unreadable", {"reason": str(error)})


def _too_long() -> Problem:
    return Problem("", "line_too_long", {"maximum": MAX_ROW_BYTES})


class _Lines:
    """The physical lines of a file; as an iterator, those of the present row, decoded."""

    def __init__(self, source: BinaryIO, encoding: str) -> None:
        self._source = source
        self._encoding = encoding
        self.number = 0
        self.text = b""

    def __iter__(self) -> "_Lines":
        return self

    def __next__(self) -> str:
        line = self.pull()
        if not line:
            raise StopIteration
        self.text += line
        if len(self.text) > MAX_ROW_BYTES:
            raise _RowError(_too_long())
        try:
            return line.decode(self._encoding)
        except UnicodeDecodeError as error:
            details = {"encoding": self._encoding, "position": error.start + 1}
            raise _RowError(Problem("", "not_decodable", details)) from error

    def begin(self) -> None:
        """Begin a row."""
        self.text = b""

    def pull(self) -> bytes:
        """Give the next line, of one that is too long only its beginning; nothing at the end of the file."""
        line = self._source.readline(MAX_ROW_BYTES + 1)
        rest = line
        while len(rest) > MAX_ROW_BYTES and not rest.endswith(b"\n"):
            rest = self._source.readline(MAX_ROW_BYTES + 1)
        self.number += bool(line)
        return line.removeprefix(BYTE_ORDER_MARK) if self.number == 1 else line
