"""What a request says, as one fingerprint: its method and address, and its body by what the body means.

| body | compared |
|---|---|
| JSON up to 1 MiB | by value: names in any order, numbers exactly |
| form | names in any order, the values of one name in theirs |
| multipart | by part - name, file name, type, bytes - whatever the boundary |
| anything else, compressed, or longer JSON | byte for byte, with its type |
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import IO
from urllib.parse import parse_qsl

from werkzeug.http import parse_options_header
from werkzeug.sansio.multipart import Data, Epilogue, Field, File, MultipartDecoder, NeedData

from dashboard.domain.fingerprint import PayloadError, field_digests, fingerprint, parse_payload
from dashboard.domain.text import TextError, check_text
from dashboard.idempotency.rules import MEBIBYTE, Rules

LONGEST_PARSED = MEBIBYTE
CHUNK = 64 * 1024
MOST_PARTS = 1000
# Beyond these, differing fields are not told apart: their names would fill the record.
MOST_FIELDS = 200
LONGEST_NAME = 128
TARGET = "@target"


@dataclass(frozen=True)
class Content:
    """The fingerprint of a request, and a keyed digest for each field of its body."""

    fingerprint: str
    digests: Mapping[str, str]


@dataclass(frozen=True)
class Said:
    """A request as it came: `length` is that of the body in bytes, `target` its method, path and query."""

    target: tuple[str, str, str]
    content_type: str
    encoding: str
    body: IO[bytes]
    length: int


def content_of(said: Said, *, rules: Rules, secret: bytes) -> Content:
    """Fingerprint a request and leave its body rewound; PayloadError where the body has no single meaning."""
    said.body.seek(0)
    kind, payload = _payload(said)
    said.body.seek(0)
    return content_from(said.target, kind=kind, payload=payload, rules=rules, secret=secret)


def content_from(target: tuple[str, str, str], *, kind: str, payload: object, rules: Rules, secret: bytes) -> Content:
    """Fingerprint a request whose body was read before."""
    whole = {"target": list(target), "kind": kind, "body": payload}
    fields = field_digests(payload if _nameable(payload) else {"": payload}, secret=secret, rules=rules.fields)
    addressed = field_digests({TARGET: list(target)}, secret=secret)
    return Content(fingerprint(whole, rules=rules.content), {**fields, **addressed})


def form_payload(pairs: list[tuple[str, str]]) -> dict[str, list[object]]:
    """The fields of a form: the values of one name stay in their order."""
    return _by_name([(name, value) for name, value in pairs])


def part_payload(*, filename: str | None, content_type: str | None, digest: str) -> dict[str, object]:
    """One part of a multipart body, whatever stood around it."""
    return {"filename": filename, "type": content_type, "sha256": digest}


def digest_of(stream: IO[bytes]) -> str:
    """The SHA-256 of what is left of a stream."""
    hashed = hashlib.sha256()
    while chunk := stream.read(CHUNK):
        hashed.update(chunk)
    return hashed.hexdigest()


def _payload(said: Said) -> tuple[str, object]:
    mimetype, options = parse_options_header(said.content_type)
    if not said.length:
        return "none", None
    if said.encoding.lower() not in {"", "identity"}:
        return "bytes", _raw(said)
    if mimetype == "multipart/form-data" and options.get("boundary"):
        return "multipart", _parts(said.body, options["boundary"].encode())
    if said.length <= LONGEST_PARSED and (mimetype == "application/json" or mimetype.endswith("+json")):
        return "json", parse_payload(said.body.read())
    if said.length <= LONGEST_PARSED and mimetype == "application/x-www-form-urlencoded":
        return "form", form_payload(_pairs(said.body.read()))
    return "bytes", _raw(said)


def _raw(said: Said) -> dict[str, object]:
    return {"type": said.content_type, "encoding": said.encoding, "sha256": digest_of(said.body)}


def _pairs(body: bytes) -> list[tuple[str, str]]:
    try:
        return parse_qsl(body.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=MOST_PARTS)
    except ValueError as error:
        raise PayloadError("payload_not_a_form") from error


def _parts(body: IO[bytes], boundary: bytes) -> dict[str, list[object]]:
    """Hash each part as it streams by; nothing of it is kept."""
    decoder = MultipartDecoder(boundary, max_parts=MOST_PARTS)
    found: list[tuple[str, object]] = []
    try:
        _walk(decoder, body, found)
    except (ValueError, OverflowError) as error:
        raise PayloadError("payload_not_multipart") from error
    return _by_name(found)


def _walk(decoder: MultipartDecoder, body: IO[bytes], found: list[tuple[str, object]]) -> None:
    part: Field | File | None = None
    hashed = hashlib.sha256()
    while True:
        event = decoder.next_event()
        if isinstance(event, NeedData):
            decoder.receive_data(body.read(CHUNK) or None)
        elif isinstance(event, Field | File):
            part, hashed = event, hashlib.sha256()
        elif isinstance(event, Data) and part is not None:
            hashed.update(event.data)
            if not event.more_data:
                found.append((part.name, _part(part, hashed.hexdigest())))
        elif isinstance(event, Epilogue):
            return


def _part(part: Field | File, digest: str) -> dict[str, object]:
    filename = part.filename if isinstance(part, File) else None
    kind = part.headers.get("Content-Type") if isinstance(part, File) else None
    return part_payload(filename=filename, content_type=kind, digest=digest)


def _by_name(pairs: list[tuple[str, object]]) -> dict[str, list[object]]:
    named: dict[str, list[object]] = {}
    for name, value in pairs:
        named.setdefault(name, []).append(value)
    return named


def _nameable(payload: object) -> bool:
    """Whether the names of the fields may be kept to say which one differs."""
    if not isinstance(payload, Mapping):
        return False
    if len(payload) > MOST_FIELDS or any(len(name) > LONGEST_NAME for name in payload):
        return False
    try:
        for name in payload:
            check_text(name)
    except TextError:
        return False
    return True
