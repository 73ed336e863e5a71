"""Taking an answer whole, as far as it may be kept, and letting the rest stream through."""

import math
from collections.abc import Callable, Iterable, Iterator


def limit_of(source: object, limit: int) -> float:
    """How much to hold back of an answer: all of it where it is finished already, for then its outcome is certain."""
    return math.inf if isinstance(source, list | tuple) else limit


def gather(parts: Iterator[bytes], *, limit: float) -> tuple[list[bytes], bool]:
    """Take chunks up to `limit` bytes, and say whether that was all."""
    chunks: list[bytes] = []
    size = 0
    for chunk in parts:
        chunks.append(chunk)
        size += len(chunk)
        if size > limit:
            return chunks, False
    return chunks, True


def close(parts: object) -> None:
    """End an answer's iterable as WSGI asks for."""
    ending = getattr(parts, "close", None)
    if ending is not None:
        ending()


class Streamed:
    """An answer too large to keep: what came of it is known with its last byte, and unknown if that is never taken."""

    def __init__(
        self,
        chunks: Iterable[bytes],
        rest: Iterator[bytes],
        *,
        source: object,
        whole: Callable[[], None],
        broken: Callable[[], None],
    ) -> None:
        self.source = source
        self.broken = broken
        self.open = True
        self.stream = self._stream(chunks, rest, whole)

    def __iter__(self) -> Iterator[bytes]:
        return self.stream

    def _stream(self, chunks: Iterable[bytes], rest: Iterator[bytes], whole: Callable[[], None]) -> Iterator[bytes]:
        yield from chunks
        yield from rest
        self.open = False
        whole()

    def close(self) -> None:
        """The server calls this at the end, whatever the end was: a client that hung up, or a fault."""
        if self.open:
            self.open = False
            self.broken()
        close(self.source)
