"""The lines an import did not take: all in a file beside the imported one, the first few on standard error."""

import json
from pathlib import Path
from types import TracebackType
from typing import Self, TextIO

import click

from dashboard.cli.words import problem_in_words
from dashboard.domain.text import visible
from dashboard.services.import_rows import Rejected

PRINTED = 20
MAX_TEXT = 10_000


class Rejects:
    """Writes FILE.rejects.jsonl, which exists afterwards only if a line was rejected.

    Where that folder cannot be written, the file goes to the present one; where neither can, all is printed.
    """

    def __init__(self, imported: Path) -> None:
        stem = imported.name.removesuffix(".jsonl")
        self._places = [imported.with_name(f"{stem}.rejects.jsonl"), Path.cwd() / f"{stem}.rejects.jsonl"]
        self._file: TextIO | None = None
        self._path: Path | None = None
        self.count = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._file:
            self._file.close()
        elif not self.count and kind is None:
            _forget(self._places[0])

    def write(self, rejected: Rejected) -> None:
        """Keep one line and its reasons."""
        if not self.count:
            self._open()
        self.count += 1
        reasons = [
            problem_in_words(problem) if number == 0 else f"{problem.field}: {problem_in_words(problem)}"
            for number, problem in enumerate(rejected.problems)
        ]
        field = rejected.problems[0].field or None
        told = {"line": rejected.number, "field": field, "reason": " ".join(reasons), "text": _text_of(rejected)}
        if self._file:
            self._file.write(json.dumps(told, ensure_ascii=False) + "\n")
        if self.count <= PRINTED or not self._file:
            named = f", {visible(field)}" if field else ""
            click.echo(f"line {rejected.number}{named}: {visible(str(told['reason']))}", err=True)

    def print_end(self) -> None:
        """Say how many more there are than were printed, and where all of them are."""
        if self._file and self.count > PRINTED:
            click.echo(f"... and {self.count - PRINTED:,} more.", err=True)
        if self._path:
            click.echo(f"The rejected lines are in {self._path}.", err=True)

    def _open(self) -> None:
        for place in self._places:
            try:
                self._file = place.open("w", encoding="utf-8", errors="backslashreplace")
            except OSError as error:
                click.echo(f"The rejected lines cannot be written to {place}: {error.strerror}.", err=True)
            else:
                self._path = place
                return
        click.echo("All rejected lines are printed here instead.", err=True)


def _text_of(rejected: Rejected) -> str:
    return rejected.text.decode("utf-8", "replace").rstrip("\r\n")[:MAX_TEXT]


def _forget(path: Path) -> None:
    # A file of an earlier run would say that lines are still bad.
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        click.echo(f"{path} is of an earlier run and cannot be removed: {error.strerror}.", err=True)
