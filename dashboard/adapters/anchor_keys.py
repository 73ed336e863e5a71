"""Keys that sign anchors: Ed25519 (RFC 8032), private ones as PEM files that only their owner can read."""

import os
import stat
from pathlib import Path

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from dashboard.domain.errors import OperationsError

OTHERS = stat.S_IRWXG | stat.S_IRWXO


class AnchorKeyError(OperationsError):
    """A signing key cannot be used; the code says why."""


def create(path: Path) -> str:
    """Write a new private key to a file that must not exist yet, and give its public key."""
    key = Ed25519PrivateKey.generate()
    content = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError as error:
        raise AnchorKeyError("anchor_key_exists", path=str(path)) from error
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
    return public_key(key)


def read(path: Path) -> Ed25519PrivateKey:
    """Read a private key; AnchorKeyError where others may read the file or it holds no such key."""
    mode = path.stat().st_mode
    if mode & OTHERS:
        raise AnchorKeyError("anchor_key_exposed", path=str(path), mode=f"{stat.S_IMODE(mode):o}")
    return parse(path.read_bytes(), named=str(path))


def parse(content: bytes, *, named: str) -> Ed25519PrivateKey:
    """Take a private key from PEM text; `named` says in an error where it came from."""
    try:
        key = serialization.load_pem_private_key(content, password=None)
    except (ValueError, TypeError) as error:
        raise AnchorKeyError("anchor_key_invalid", path=named) from error
    if not isinstance(key, Ed25519PrivateKey):
        raise AnchorKeyError("anchor_key_invalid", path=named)
    return key


def public_key(key: Ed25519PrivateKey) -> str:
    """The public key as 64 hex digits."""
    return key.public_key().public_bytes_raw().hex()


def sign(key: Ed25519PrivateKey, content: bytes) -> str:
    """A signature as 128 hex digits."""
    return key.sign(content).hex()


def verifies(*, public: str, signature: str, content: bytes) -> bool:
    """Tell whether the signature is that of the content under the public key."""
    try:
        Ed25519PublicKey.from_public_bytes(bytes.fromhex(public)).verify(bytes.fromhex(signature), content)
    except (InvalidSignature, ValueError):
        return False
    return True
