"""A whole policy file becomes the values that the rest of the product works with."""

from datetime import timedelta
from decimal import Decimal
from hashlib import sha256
from pathlib import Path

import pytest

from dashboard.cli.demo_shop import POLICIES as DEMO
from dashboard.domain.evidence_sources import FileFormat, SignatureScheme
from dashboard.domain.policy import Auth, FieldKind, Mode, Policies, Response, Retry, Window
from dashboard.domain.verdicts import Verdict
from dashboard.services.policies import check_policies, load_policies, read_policies

SAMPLE = Path(__file__).parents[1] / "samples" / "policies.toml"
SECRETS = ("CARD_TOKEN", "STOCK_KEY", "MAIL_SECRET", "SHOP_SECRET", "BOOKS_URL", "ALERTS_TOKEN")
ENVIRONMENT = {"BROKER_URL": "amqp://127.0.0.1", **dict.fromkeys(SECRETS, "a secret")}


@pytest.fixture
def policies() -> Policies:
    return load_policies(SAMPLE, environment=ENVIRONMENT)


@pytest.mark.parametrize("path", [SAMPLE, DEMO])
def test_a_good_file_has_no_finding(path: Path) -> None:
    found = check_policies(path.read_bytes(), environment=ENVIRONMENT)
    assert (found.problems, found.notes) == ((), ())


def test_without_a_file_there_are_only_defaults() -> None:
    assert load_policies(None) == Policies()


def test_an_empty_file_is_a_version_of_its_own() -> None:
    found = read_policies(b"", environment={})
    assert (found.hash, dict(found.types)) == (sha256(b"").hexdigest(), {})


def test_a_version_is_named_by_the_hash_of_its_bytes(policies: Policies) -> None:
    content = SAMPLE.read_bytes()
    assert (policies.hash, policies.text) == (sha256(content).hexdigest(), content.decode())


def test_a_byte_order_mark_and_windows_lines_are_read() -> None:
    found = read_policies(b'\xef\xbb\xbf[types.a]\r\ndeadline = "2h"\r\n', environment={})
    assert found.deadline_of("a") == timedelta(hours=2)


def test_a_type_says_only_what_differs_from_the_defaults(policies: Policies) -> None:
    charge = policies.types["charge"]
    assert charge.window == Window(timedelta(seconds=30), timedelta(hours=4))
    assert charge.retry == Retry(4, timedelta(seconds=5), 3.0, timedelta(minutes=20))
    assert charge.on[Verdict.ABSENT] is Response.RETRY
    assert charge.on[Verdict.CORRECT] is Response.CONFIRM
    assert charge.approvals.needed == {"requeue": 0, "compensate": 1, "close": 0, "confirm": 0, "reopen": 1}
    assert charge.approvals.expires == timedelta(hours=8)
    assert (charge.mode, policies.types["notify"].mode) == (Mode.ACT, Mode.OBSERVE)


def test_what_is_to_be_redacted_adds_up(policies: Policies) -> None:
    assert policies.types["charge"].redact == ("authorization", "expected.email")
    assert policies.types["refund"].redact == ("authorization",)


def test_a_type_that_is_not_named_follows_the_defaults(policies: Policies) -> None:
    assert policies.of("unheard_of").deadline == timedelta(hours=12)
    assert policies.of("unheard_of").probe is None


def test_amounts_and_tolerances_are_exact(policies: Policies) -> None:
    charge = policies.types["charge"]
    assert charge.approvals.manager_above == {"EUR": Decimal("500.00"), "JPY": Decimal(80000)}
    assert [(one.kind, one.tolerance) for one in charge.compare] == [
        (FieldKind.DECIMAL, Decimal("0.01")),
        (FieldKind.TIME, Decimal(300)),
    ]


def test_an_address_comes_from_the_environment_or_its_default() -> None:
    set_, unset = (load_policies(SAMPLE, environment=found) for found in ({"CARD_URL": "https://card.example/"}, {}))
    assert set_.destinations["card"].base_url == "https://card.example"
    assert unset.destinations["card"].base_url == "http://127.0.0.1:9555"
    assert unset.destinations["stock"].base_url == "https://stock.example/api"


def test_a_destination_is_as_written(policies: Policies) -> None:
    card = policies.destinations["card"]
    assert (card.timeout, card.retries_per_minute, card.allow_private) == (timedelta(seconds=4), 30, True)
    assert policies.destinations["stock"].auth == Auth("header", "STOCK_KEY", "X-Api-Key")
    assert policies.honours_key("card") is True
    assert policies.honours_key("stock") is False
    assert policies.honours_key("unheard_of") is None


def test_evidence_that_comes_by_itself_is_mapped(policies: Policies) -> None:
    evidence, receipts = policies.destinations["bank"].evidence, policies.destinations["mail"].receipts
    assert evidence is not None
    assert (evidence.format, evidence.delimiter, evidence.encoding) == (FileFormat.CSV, ";", "latin-1")
    assert evidence.columns["operation_id"] == "Our reference"
    assert receipts is not None
    assert (receipts.scheme, receipts.secret_env) == (SignatureScheme.STANDARD_WEBHOOKS, "MAIL_SECRET")
    assert receipts.tolerance == timedelta(minutes=10)


def test_a_probe_keeps_only_what_it_is_told(policies: Policies) -> None:
    assert policies.types["charge"].probe is not None
    assert policies.types["charge"].probe.settings["missing_status"] == (404,)
    book = policies.types["book"].probe
    assert book is not None
    assert (book.kind, book.settings["connection"]) == ("sql", "BOOKS_URL")
    assert str(book.settings["query"]).endswith(":operation_id")
    assert "as_of" not in book.settings


def test_secrets_are_named_and_never_read(policies: Policies) -> None:
    assert policies.sinks["shop"].settings["secret_env"] == "SHOP_SECRET"
    assert "a secret" not in str(policies)


def test_sinks_are_as_written(policies: Policies) -> None:
    assert {name: sink.kind for name, sink in policies.sinks.items()} == {
        "shop": "webhook",
        "broker": "amqp",
        "queue": "redis",
        "polled": "table",
    }
    assert policies.sinks["broker"].settings == {
        "url": "amqp://127.0.0.1",
        "exchange": "operations",
        "max_claims": 10,
    }
