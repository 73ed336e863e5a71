"""A mail server on loopback that keeps what it is given, and refuses everything, or some, or is rude, when told to."""

import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field


@dataclass
class Letters:
    """Where it listens, who got which text, and whom it knows not."""

    port: int = 0
    refuses: bool = False
    unknown: frozenset[str] = frozenset()
    farewell: str = "221 bye"
    kept: list[tuple[str, str]] = field(default_factory=list)


@contextmanager
def receiving() -> Iterator[Letters]:
    """Run one for the length of a test."""
    letters = Letters()

    class Session(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            to = ""
            self._say("220 ready")
            while line := self.rfile.readline().decode():
                verb = line.strip().upper()
                if verb.startswith("QUIT"):
                    self._say(letters.farewell)
                    break
                if verb.startswith("RCPT"):
                    to = line.partition("<")[2].partition(">")[0]
                    self._say("550 no" if letters.refuses or to in letters.unknown else "250 ok")
                elif verb == "DATA":
                    self._say("354 go on")
                    letters.kept.append((to, self._text()))
                    self._say("250 kept")
                else:
                    self._say("250 ok")

        def _text(self) -> str:
            lines: list[str] = []
            while (line := self.rfile.readline().decode()).strip() != ".":
                lines.append(line)
            return "".join(lines)

        def _say(self, answer: str) -> None:
            self.wfile.write(f"{answer}\r\n".encode())

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Session) as server:
        letters.port = server.server_address[1]
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield letters
        server.shutdown()
        thread.join()
