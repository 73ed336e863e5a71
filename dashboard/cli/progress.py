"""Progress of long work: one line that changes on a terminal, a plain line now and then elsewhere."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import click

PLAIN_EVERY = 50_000


@contextmanager
def shown_progress(noun: str, *, total_bytes: int | None = None) -> Iterator[Callable[[int, int], None]]:
    """Give a function that shows how many were done, and how much of the bytes; it writes to standard error."""
    terminal = sys.stderr.isatty()
    told = 0

    def show(done: int, bytes_read: int) -> None:
        nonlocal told
        share = f" ({bytes_read / total_bytes:.0%})" if total_bytes else ""
        if terminal:
            click.echo(f"\r\x1b[K{done:,} {noun}{share}", nl=False, err=True)
        elif done - told >= PLAIN_EVERY:
            told = done
            click.echo(f"{done:,} {noun}{share}", err=True)

    try:
        yield show
    finally:
        if terminal:
            click.echo("\r\x1b[K", nl=False, err=True)
