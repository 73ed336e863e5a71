"""Each scheme lets in what its own library signs, and nothing else."""

from datetime import UTC, datetime, timedelta

import pytest

from dashboard.adapters.signatures import SignatureError, Signed, is_secret, verify
from dashboard.domain.evidence_sources import SignatureScheme
from tests.receiving import STRIPE_SECRET, WEBHOOK_SECRET, bank_message, cards_message

AT = datetime(2026, 11, 30, 12, 0, 0, tzinfo=UTC)
MESSAGES = {SignatureScheme.STANDARD_WEBHOOKS: bank_message, SignatureScheme.STRIPE: cards_message}
SECRETS = {SignatureScheme.STANDARD_WEBHOOKS: WEBHOOK_SECRET, SignatureScheme.STRIPE: STRIPE_SECRET}
OTHER_SECRET = "whsec_" + "QUJD" * 8

every_scheme = pytest.mark.parametrize("scheme", list(SignatureScheme))


def check(
    scheme: SignatureScheme,
    body: bytes,
    headers: dict[str, str],
    *,
    secret: str | None = None,
    now: datetime = AT,
) -> Signed:
    given = secret or SECRETS[scheme]
    return verify(scheme, headers=headers, body=body, secret=given, now=now, tolerance=timedelta(minutes=5))


@every_scheme
@pytest.mark.parametrize("late", [timedelta(0), timedelta(minutes=5), -timedelta(minutes=5)])
def test_a_signed_message_is_let_in_for_five_minutes_either_way(scheme: SignatureScheme, late: timedelta) -> None:
    assert check(scheme, *MESSAGES[scheme](AT), now=AT + late).at == AT


@every_scheme
@pytest.mark.parametrize("late", [timedelta(minutes=5, seconds=1), -timedelta(minutes=5, seconds=1)])
def test_an_old_or_early_message_is_a_replay(scheme: SignatureScheme, late: timedelta) -> None:
    with pytest.raises(SignatureError, match="signature_old"):
        check(scheme, *MESSAGES[scheme](AT), now=AT + late)


@every_scheme
def test_a_changed_body_or_another_secret_is_refused(scheme: SignatureScheme) -> None:
    body, headers = MESSAGES[scheme](AT)
    with pytest.raises(SignatureError, match="signature_wrong"):
        check(scheme, body + b" ", headers)
    with pytest.raises(SignatureError, match="signature_wrong"):
        check(scheme, body, headers, secret=OTHER_SECRET)


@every_scheme
def test_a_message_without_signature_is_refused(scheme: SignatureScheme) -> None:
    with pytest.raises(SignatureError, match="signature_missing"):
        check(scheme, b"{}", {})


def test_a_signature_of_a_retired_secret_may_stand_beside_the_present_one() -> None:
    body, headers = bank_message(AT)
    both = {**headers, "webhook-signature": f"v1,b2xk v1a,x {headers['webhook-signature']}"}
    assert check(SignatureScheme.STANDARD_WEBHOOKS, body, both).event_id == "msg_1"


@pytest.mark.parametrize("stamp", ["", "soon", "-1", "1" * 400, "²", "1e9"])
def test_a_stamp_that_is_no_number_is_no_fault_of_ours(stamp: str) -> None:
    body, headers = bank_message(AT)
    with pytest.raises(SignatureError):
        check(SignatureScheme.STANDARD_WEBHOOKS, body, {**headers, "webhook-timestamp": stamp})
    with pytest.raises(SignatureError):
        check(SignatureScheme.STRIPE, body, {"stripe-signature": f"t={stamp},v1=00"})


@pytest.mark.parametrize("secret", ["", "whsec_", "not base64!!", "é"])
def test_a_secret_that_the_scheme_cannot_use_is_told(secret: str) -> None:
    assert not is_secret(SignatureScheme.STANDARD_WEBHOOKS, secret)
