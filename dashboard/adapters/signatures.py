"""Who sent an acknowledgement: the signature schemes, checked in constant time.

`standard_webhooks`: https://www.standardwebhooks.com (headers webhook-id, webhook-timestamp, webhook-signature).
`stripe`: https://docs.stripe.com/webhooks#verify-manually (header Stripe-Signature with t= and v1=).
"""

import binascii
import hashlib
import hmac
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from standardwebhooks import Webhook
from standardwebhooks.webhooks import EmptyWebhookSecretError

from dashboard.domain.evidence_sources import SignatureScheme

# Seconds since 1970; eleven digits last until the year 5138.
LONGEST_STAMP = 11
MOST_SIGNATURES = 20


class SignatureError(ValueError):
    """A message that nobody vouches for; `code` says why."""

    def __init__(self, code: str) -> None:
        self.code = code
        super().__init__(code)


@dataclass(frozen=True)
class Signed:
    """A message whose sender is known: when it was signed, and its id where the scheme has one."""

    at: datetime
    event_id: str | None = None


def verify(
    scheme: SignatureScheme,
    *,
    headers: Mapping[str, str],
    body: bytes,
    secret: str,
    now: datetime,
    tolerance: timedelta,
) -> Signed:
    """Check a message against the secret; SignatureError `signature_missing`, `signature_wrong` or `signature_old`.

    `headers` have names in small letters. A time further than `tolerance` from now, either way, is a replay.
    """
    signed = SCHEMES[scheme](headers, body, secret)
    if abs(now - signed.at) > tolerance:
        raise SignatureError("signature_old")
    return signed


def _standard_webhooks(headers: Mapping[str, str], body: bytes, secret: str) -> Signed:
    event_id, stamp, given = (headers.get(f"webhook-{name}", "") for name in ("id", "timestamp", "signature"))
    if not (event_id and stamp and given):
        raise SignatureError("signature_missing")
    at = _read_time(stamp)
    try:
        expected = Webhook(secret).sign(event_id, at, body.decode())
    except UnicodeDecodeError as error:
        raise SignatureError("signature_wrong") from error
    _compare(expected, given.split(" "))
    return Signed(at, event_id)


def _stripe(headers: Mapping[str, str], body: bytes, secret: str) -> Signed:
    given = headers.get("stripe-signature", "")
    parts = [part.strip().partition("=") for part in given.split(",")]
    stamps = [value for name, _, value in parts if name == "t"]
    signatures = [value for name, _, value in parts if name == "v1"]
    if len(stamps) != 1 or not signatures:
        raise SignatureError("signature_missing")
    at = _read_time(stamps[0])
    expected = hmac.new(secret.encode(), f"{stamps[0]}.".encode() + body, hashlib.sha256).hexdigest()
    _compare(expected, signatures)
    return Signed(at)


def is_secret(scheme: SignatureScheme, secret: str) -> bool:
    """Whether the scheme can use the secret: Standard Webhooks wants base64, with or without `whsec_`."""
    if scheme is not SignatureScheme.STANDARD_WEBHOOKS:
        return bool(secret)
    try:
        Webhook(secret)
    except (binascii.Error, ValueError, EmptyWebhookSecretError):
        return False
    return True


def _compare(expected: str, given: Iterable[str]) -> None:
    wanted = expected.encode()
    fits = [hmac.compare_digest(wanted, each.encode()) for each in list(given)[:MOST_SIGNATURES]]
    if not any(fits):
        raise SignatureError("signature_wrong")


def _read_time(stamp: str) -> datetime:
    if not (stamp.isascii() and stamp.isdecimal()) or len(stamp) > LONGEST_STAMP:
        raise SignatureError("signature_wrong")
    return datetime.fromtimestamp(int(stamp), UTC)


SCHEMES: Mapping[SignatureScheme, Callable[[Mapping[str, str], bytes, str], Signed]] = {
    SignatureScheme.STANDARD_WEBHOOKS: _standard_webhooks,
    SignatureScheme.STRIPE: _stripe,
}
