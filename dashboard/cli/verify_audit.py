"""Check an exported audit log on a machine without the product that wrote it.

    python3 verify_audit.py audit.jsonl [--anchor anchor.json ...] [--public-key HEX ...]

Needs Python 3.9 or newer and nothing else. Exit status: 0 nothing is wrong, 1 something is, 2 the files cannot be read.

What is checked: every line is an entry or the place of one, the numbers have no gap, each entry's hash is that of what
it says and of the hash before it, the file ends where it says, and each anchor is signed and fits. Without an anchor
that was kept elsewhere, whoever wrote the file could have written all of it anew.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from pathlib import Path
from typing import Any, Dict, Iterator, List, Tuple

EXPORT = "operations-dashboard/audit-export/v1"
ANCHOR = "operations-dashboard/audit-anchor/v1"
DOMAIN = b"operations-dashboard/audit/v1"
HASHED = (
    "seq", "at", "actor_kind", "actor_id", "address", "action", "subject", "tenant", "type", "outcome", "before",
    "after", "reason", "evidence", "request_id",
)  # fmt: skip
CHAIN = {"previous_hash", "hash"}
PLACE = {"seq", "withheld"} | CHAIN
SIGNED = ("database", "seq", "hash", "at")

Line = Dict[str, Any]
Point = Tuple[int, int, int, int]
Wanted = Dict[int, List[Line]]


class BrokenError(Exception):
    """Something is wrong with what the file says."""


class UnreadableError(Exception):
    """The file is no export, or no anchor."""


# The bytes of an entry: each value with a letter for its kind and its length, so that no two entries share them.


def framed(kind: bytes, content: bytes) -> bytes:
    return kind + len(content).to_bytes(8, "big") + content


def encoded(value: object) -> bytes:
    if value is None:
        return framed(b"n", b"")
    if isinstance(value, bool) or not isinstance(value, (int, str)):
        raise BrokenError("holds a value that no entry has")
    return framed(b"i", str(value).encode()) if isinstance(value, int) else framed(b"s", value.encode())


def entry_hash(entry: Line) -> str:
    parts = [framed(b"d", DOMAIN), encoded(entry["previous_hash"]), framed(b"c", str(len(HASHED)).encode())]
    for name in HASHED:
        parts += [framed(b"k", name.encode()), encoded(entry[name])]
    return hashlib.sha256(b"".join(parts)).hexdigest()


# Ed25519 as RFC 8032 section 5.1 gives it, only to verify: nothing here is secret, so it need not be quick or even.

P = 2**255 - 19
ORDER = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, P - 2, P) % P
ROOT = pow(2, (P - 1) // 4, P)


def recovered(y: int, sign: int) -> int | None:
    square = (y * y - 1) * pow(D * y * y + 1, P - 2, P) % P
    x = pow(square, (P + 3) // 8, P)
    if (x * x - square) % P:
        x = x * ROOT % P
    if y >= P or (x * x - square) % P or (x == 0 and sign):
        return None
    return P - x if x % 2 != sign else x


def point(encoded_point: bytes) -> Point | None:
    number = int.from_bytes(encoded_point, "little")
    y, sign = number % 2**255, number >> 255
    x = recovered(y, sign)
    return None if x is None else (x, y, 1, x * y % P)


def added(a: Point, b: Point) -> Point:
    first, second = (a[1] - a[0]) * (b[1] - b[0]) % P, (a[1] + a[0]) * (b[1] + b[0]) % P
    third, fourth = 2 * a[3] * b[3] * D % P, 2 * a[2] * b[2] % P
    e, f, g, h = second - first, fourth - third, fourth + third, second + first
    return (e * f % P, g * h % P, f * g % P, e * h % P)


def multiplied(factor: int, a: Point) -> Point:
    found = (0, 1, 1, 0)
    while factor:
        if factor & 1:
            found = added(found, a)
        a, factor = added(a, a), factor >> 1
    return found


def same(a: Point, b: Point) -> bool:
    return (a[0] * b[2] - b[0] * a[2]) % P == 0 and (a[1] * b[2] - b[1] * a[2]) % P == 0


BASE_Y = 4 * pow(5, P - 2, P) % P
BASE_X = 15112221349535400772501151409588531511454012693041857206046113283949847762202
BASE = (BASE_X, BASE_Y, 1, BASE_X * BASE_Y % P)


def signature_fits(public: bytes, message: bytes, signature: bytes) -> bool:
    """Tell whether the 64 bytes are the signature of the message under the 32 bytes of the key."""
    if len(public) != 32 or len(signature) != 64:
        return False
    key, commitment = point(public), point(signature[:32])
    factor = int.from_bytes(signature[32:], "little")
    if key is None or commitment is None or factor >= ORDER:
        return False
    challenge = int.from_bytes(hashlib.sha512(signature[:32] + public + message).digest(), "little") % ORDER
    return same(multiplied(factor, BASE), added(commitment, multiplied(challenge, key)))


# The files.


def without_twins(pairs: list[tuple[str, Any]]) -> Line:
    if len({name for name, _ in pairs}) != len(pairs):
        raise ValueError("one name stands twice")
    return dict(pairs)


def loaded(text: str) -> Any:
    return json.loads(text, object_pairs_hook=without_twins)


def read_anchors(path: str) -> Iterator[Line]:
    decoder = json.JSONDecoder(object_pairs_hook=without_twins)
    rest = Path(path).read_text(encoding="utf-8").strip()
    while rest:
        try:
            found, end = decoder.raw_decode(rest)
            anchor = {name: found[name] for name in (*SIGNED, "public_key", "signature")}
            if found.get("format") != ANCHOR or type(anchor["seq"]) is not int:
                raise ValueError("another format")
            anchor["signature_bytes"] = bytes.fromhex(anchor["signature"])
            anchor["key_bytes"] = bytes.fromhex(anchor["public_key"])
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise UnreadableError(f"{path} holds no anchor: {error}") from error
        yield anchor
        rest = rest[end:].lstrip()


def check_signature(anchor: Line, trusted: set[str]) -> None:
    name = f"the anchor at entry {anchor['seq']} of {anchor['at']}"
    message = "\n".join((ANCHOR, *(str(anchor[part]) for part in SIGNED), "")).encode()
    if not signature_fits(anchor["key_bytes"], message, anchor["signature_bytes"]):
        raise BrokenError(f"The signature of {name} does not fit.")
    if trusted and anchor["public_key"].lower() not in trusted:
        raise BrokenError(f"{name.capitalize()} is signed by {anchor['public_key']}, which is not a key you trust.")


def header_of(line: str) -> Line:
    try:
        header: Line = loaded(line)
        if header["format"] == EXPORT:
            return header
    except (ValueError, TypeError, KeyError):
        pass
    raise UnreadableError(f"the first line does not say that it is {EXPORT}")


def checked_entry(number: int, line: str, previous: Line | None) -> Any:
    """Give an entry that fits behind the one before it; `previous` is None for the first of the file."""
    try:
        entry = loaded(line)
    except ValueError as error:
        raise BrokenError(
            f"Line {number} cannot be read ({error}): it was changed, or the file was cut in it."
        ) from error
    if not isinstance(entry, dict) or "end" in entry:
        return entry
    names, name = set(entry), f"Entry {entry.get('seq')} (line {number})"
    if names != PLACE and names != CHAIN | set(HASHED):
        raise BrokenError(f"{name} does not have the fields of an entry.")
    if previous and entry["seq"] != previous["seq"] + 1:
        raise BrokenError(f"Entry {previous['seq'] + 1} is missing: line {number} is entry {entry['seq']}.")
    try:
        if "withheld" not in entry and entry_hash(entry) != entry["hash"]:
            raise BrokenError(f"{name} was changed after it was written.")
    except (ValueError, TypeError) as error:
        raise BrokenError(f"{name} holds text that no entry has.") from error
    if previous and entry["previous_hash"] != previous["hash"]:
        raise BrokenError(f"{name} does not follow from the entry before it.")
    if entry["seq"] == 1 and entry["previous_hash"] is not None:
        raise BrokenError(f"{name} is the first and yet names one before it.")
    return entry


def walk(lines: Iterator[str], header: Line, wanted: Wanted) -> tuple[int, int]:
    """Check every line; give how many entries are shown and withheld. Anchors that fit leave `wanted`."""
    previous: Line | None = None
    shown, withheld, number = 0, 0, 1
    for number, line in enumerate(lines, 2):
        entry = checked_entry(number, line, previous)
        if not isinstance(entry, dict):
            raise BrokenError(f"Line {number} is no entry.")
        if "end" in entry:
            check_end(entry["end"], header, previous, shown, withheld)
            if next(iter(lines), None) is not None:
                raise BrokenError(f"Lines were added behind the end, which is line {number}.")
            return shown, withheld
        if previous is None and entry["seq"] != header.get("first"):
            raise BrokenError(f"Entry {header.get('first')} is missing: line {number} is entry {entry['seq']}.")
        if entry["seq"] == 1 and entry["hash"] != header.get("database"):
            raise BrokenError("The first entry is not the one that the header names.")
        for anchor in wanted.pop(entry["seq"], ()):
            if anchor["hash"] != entry["hash"]:
                raise BrokenError(
                    f"Entry {entry['seq']} is not what its anchor says: the log was rewritten at it or before."
                )
        previous, shown, withheld = entry, shown + ("withheld" not in entry), withheld + ("withheld" in entry)
    last = previous["seq"] if previous else "none"
    raise BrokenError(f"The file ends after line {number} (entry {last}) without its last line: its tail was cut off.")


def check_end(end: Any, header: Line, previous: Line | None, shown: int, withheld: int) -> None:
    last = previous["seq"] if previous else None
    if not isinstance(end, dict) or end.get("last") != last or header.get("last") != last:
        raise BrokenError(f"Entries behind {last} were cut off: the file says that it goes to {header.get('last')}.")
    if (end.get("shown"), end.get("withheld")) != (shown, withheld):
        raise BrokenError("The last line counts other entries than there are.")


def check_anchors(anchors: list[Line], header: Line, wanted: Wanted, trusted: set[str]) -> None:
    for anchor in anchors:
        check_signature(anchor, trusted)
        if header.get("database") != anchor["database"]:
            raise BrokenError("The anchor is of another database, or the first entry was rewritten.")
        beyond = header.get("last") is None or anchor["seq"] > header["last"]
        if beyond and header.get("until") is None:
            raise BrokenError(
                f"The log ends before entry {anchor['seq']}, which an anchor names: its tail was cut off."
            )
        wanted.setdefault(anchor["seq"], []).append(anchor)


def report(header: Line, shown: int, withheld: int, anchors: list[Line], unmet: Wanted) -> None:
    print(f"Intact: entries {header['first']} to {header['last']}, {shown} with their content.")
    if header["first"] not in (None, 1):
        print(f"What came before entry {header['first']} is not in this file.")
    if withheld:
        print(f"Withheld: {withheld}. Of these the file has only the place in the chain; their content is not proven.")
    met = len(anchors) - sum(map(len, unmet.values()))
    if met:
        print(f"Anchors that fit: {met}.")
    for key in sorted({anchor["public_key"] for anchor in anchors}):
        print(f"Signed by {key}: compare it with the key you know.")
    if not met:
        print("No anchor fits into this file: whoever wrote it could have written all of it anew.")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file")
    parser.add_argument("--anchor", action="append", default=[], help="a file of anchors; may repeat")
    parser.add_argument("--public-key", action="append", default=[], help="trust only this key; may repeat")
    arguments = parser.parse_args()
    try:
        anchors = [anchor for path in arguments.anchor for anchor in read_anchors(path)]
        wanted: Wanted = {}
        with Path(arguments.file).open(encoding="utf-8", newline="\n") as file:
            lines = iter(file)
            header = header_of(next(lines, ""))
            check_anchors(anchors, header, wanted, {key.lower() for key in arguments.public_key})
            shown, withheld = walk(lines, header, wanted)
    except BrokenError as found:
        print(f"Broken: {found}")
        return 1
    except (OSError, UnicodeDecodeError, UnreadableError) as error:
        print(f"Cannot be checked: {error}", file=sys.stderr)
        return 2
    report(header, shown, withheld, anchors, wanted)
    return 0


if __name__ == "__main__":
    sys.exit(main())
