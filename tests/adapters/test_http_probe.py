import socket
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from types import MappingProxyType
from typing import Any

import pytest

from dashboard.adapters.outward import is_public
from dashboard.adapters.probes.http import address_of, probe
from dashboard.domain.answers import Answer, Question
from dashboard.domain.policy import Auth, ProbeRule
from dashboard.domain.policy import Destination as Outside
from tests.destination import Destination, Planned

Ask = Callable[..., Answer]
SECOND = timedelta(seconds=1)


@pytest.fixture
def ask(destination: Destination) -> Ask:
    """Ask about op-1, with changes of the destination, the settings or the question."""

    def ask(
        *, question: dict[str, Any] | None = None, outside: dict[str, Any] | None = None, **settings: Any
    ) -> Answer:
        given = {"path": "/payments?operation_id={operation_id}", "items": "data", "remote_id": "id", **settings}
        asked = Question("op-1", "shop", "charge_order", "order", "452", datetime.now(UTC))
        known = Outside("payments", destination.url, allow_private=True, timeout=SECOND)
        rule = ProbeRule("http", MappingProxyType(given))
        return probe(rule, replace(known, **outside or {}), replace(asked, **question or {}))

    return ask


def test_an_answer_has_its_candidates_its_id_and_a_hash(destination: Destination, ask: Ask) -> None:
    destination.add("op-1", amount="10.00")
    answer = ask()
    assert (answer.failed, len(answer.candidates), answer.remote_id, answer.status) == (None, 1, "pay_1", 200)
    assert len(answer.raw_hash or "") == 64
    assert answer.authoritative


def test_numbers_are_read_exactly(destination: Destination, ask: Ask) -> None:
    destination.answer_looks(Planned(body=b'{"data": [{"amount": 0.10000000000000000001}]}'))
    assert str(ask().candidates[0]["amount"]) == "0.10000000000000000001"


def test_values_are_encoded_into_the_address(destination: Destination, ask: Ask) -> None:
    odd = "a/b?c=d&e#f é"
    destination.add(odd)
    assert len(ask(question={"operation_id": odd}).candidates) == 1


@pytest.mark.parametrize(
    ("value", "code"), [("..", "placeholder_refused"), (".", "placeholder_refused"), (None, "placeholder_unknown")]
)
def test_a_value_that_climbs_or_is_unknown_is_refused(
    destination: Destination, ask: Ask, value: str | None, code: str
) -> None:
    assert ask(path="/payments/{remote_id}", question={"remote_id": value}).failed == code
    assert destination.looks() == 0


def test_the_address_joins_base_and_path() -> None:
    known = Outside("payments", "https://pay.example/v1/")
    assert address_of(known, "/charges/{entity_id}", {"entity_id": "4/2"}) == "https://pay.example/v1/charges/4%2F2"


def test_a_field_of_what_is_expected_may_stand_in_the_address(destination: Destination, ask: Ask) -> None:
    destination.add("cus 7")
    path = "/payments?operation_id={expected.customer}"
    assert len(ask(path=path, question={"expected": {"customer": "cus 7"}}).candidates) == 1
    assert ask(path=path, question={"expected": {"customer": {"id": 7}}}).failed == "placeholder_unknown"


def test_of_a_whole_list_only_what_names_the_operation_counts(destination: Destination, ask: Ask) -> None:
    listed = b'[{"id": "ch_1", "for": {"it": "op-1"}}, {"id": "ch_2", "for": {"it": "op-10"}}, {"id": "ch_3"}]'
    destination.answer_looks(Planned(body=b'{"data": ' + listed + b"}"), Planned(body=b'{"data": [{"id": "ch_2"}]}'))
    answer = ask(match="for.it")
    assert (len(answer.candidates), answer.remote_id) == (1, "ch_1")
    assert ask(match="for.it").candidates == ()


@pytest.mark.parametrize(
    ("planned", "code"),
    [
        (Planned(500), "server_error"),
        (Planned(401), "unauthorised"),
        (Planned(403), "unauthorised"),
        (Planned(404), "status_unexpected"),
        (Planned(204), "status_unexpected"),
        (Planned(301, headers=(("Location", "https://elsewhere.example/"),)), "redirected"),
        (Planned(body=b"<html></html>", content_type="text/html"), "not_json"),
        (Planned(body=b"{"), "not_json"),
        (Planned(body=b'{"data": [{"amount": NaN}]}'), "not_json"),
        (Planned(body=b"[" * 200_000), "not_json"),
        (Planned(body=b'"' + b"x" * 10_000_000 + b'"'), "answer_too_large"),
        (Planned(headers=(("Content-Encoding", "gzip"),)), "answer_packed"),
        (Planned(body=b'{"other": []}'), "not_candidates"),
        (Planned(body=b'{"data": [1, 2]}'), "not_candidates"),
        (Planned(body=b'{"data": "none"}'), "not_candidates"),
        (Planned(lose=True), "unreachable"),
        (Planned(delay=1.4), "timed_out"),
    ],
)
def test_whatever_goes_wrong_is_an_answer_that_failed(
    destination: Destination, ask: Ask, planned: Planned, code: str
) -> None:
    destination.answer_looks(planned)
    answer = ask()
    assert (answer.failed, answer.candidates, answer.authoritative) == (code, (), False)
    assert destination.looks() == 1


def test_a_destination_that_asks_for_a_pause_says_how_long(destination: Destination, ask: Ask) -> None:
    destination.answer_looks(Planned(503, headers=(("Retry-After", "30"),)))
    answer = ask()
    assert (answer.failed, answer.retry_after, answer.is_away) == ("throttled", timedelta(seconds=30), True)


def test_a_status_means_none_only_where_policy_says_so(destination: Destination, ask: Ask) -> None:
    destination.answer_looks(Planned(404, b"", "text/plain"))
    answer = ask(missing_status=(404, 410))
    assert (answer.failed, answer.candidates, answer.authoritative) == (None, (), True)
    assert answer.as_of is not None


def test_nobody_listens(ask: Ask) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
        assert ask(outside={"base_url": url}).failed == "unreachable"


def test_a_server_without_tls_cannot_be_asked_securely(destination: Destination, ask: Ask) -> None:
    assert ask(outside={"base_url": destination.url.replace("http:", "https:")}).failed == "tls_failed"


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "2130706433"])
def test_a_private_address_is_refused_before_a_byte_is_sent(destination: Destination, ask: Ask, host: str) -> None:
    url = destination.url.replace("127.0.0.1", host)
    answer = ask(outside={"base_url": url, "allow_private": False})
    assert answer.failed in {"address_private", "unreachable"}
    assert destination.looks() == 0


@pytest.mark.parametrize(
    ("address", "public"),
    [
        ("93.184.216.34", True),
        ("2606:2800:220:1::1", True),
        ("127.0.0.1", False),
        ("10.1.2.3", False),
        ("169.254.169.254", False),
        ("100.64.0.1", False),
        ("0.0.0.0", False),  # noqa: S104 - an address to refuse
        ("224.0.0.1", False),
        ("::1", False),
        ("::ffff:10.0.0.1", False),
        ("fe80::1%eth0", False),
        ("fd00::1", False),
    ],
)
def test_only_addresses_of_the_open_internet_are_public(address: str, *, public: bool) -> None:
    assert is_public(address) is public


@pytest.mark.parametrize(
    ("auth", "sent"),
    [
        (Auth("bearer", "PAYMENTS_TOKEN"), "Bearer s3cret"),
        (Auth("header", "PAYMENTS_TOKEN", "X-Api-Key"), "s3cret"),
        (Auth("basic", "PAYMENTS_TOKEN"), "Basic czNjcmV0"),
    ],
)
def test_the_secret_is_read_from_the_environment(
    destination: Destination, ask: Ask, monkeypatch: pytest.MonkeyPatch, auth: Auth, sent: str
) -> None:
    monkeypatch.setenv("PAYMENTS_TOKEN", "s3cret")
    ask(outside={"auth": auth})
    assert destination.requests[0][2][auth.header] == sent


@pytest.mark.parametrize(("value", "code"), [(None, "secret_missing"), ("two\nlines", "secret_invalid")])
def test_a_secret_that_is_missing_or_no_header_is_never_asked_with(
    destination: Destination, ask: Ask, monkeypatch: pytest.MonkeyPatch, value: str | None, code: str
) -> None:
    monkeypatch.delenv("PAYMENTS_TOKEN", raising=False)
    if value:
        monkeypatch.setenv("PAYMENTS_TOKEN", value)
    answer = ask(outside={"auth": Auth("bearer", "PAYMENTS_TOKEN")})
    assert (answer.failed, destination.looks()) == (code, 0)
    assert "lines" not in answer.detail


def test_flags_are_true_only_where_they_hold_of_every_candidate(destination: Destination, ask: Ask) -> None:
    destination.add("op-1", status="cancelled")
    assert ask(cancelled="status == 'cancelled'").cancelled
    destination.add("op-1", status="succeeded")
    assert not ask(cancelled="status == 'cancelled'").cancelled


def test_a_partial_answer_and_one_that_cannot_prove_absence_say_so(destination: Destination, ask: Ask) -> None:
    destination.answer_looks(Planned(body=b'{"data": [], "has_more": true}'))
    answer = ask(partial="has_more", authoritative=False)
    assert (answer.partial, answer.authoritative) == (True, False)


def test_more_candidates_than_anybody_reads_are_a_partial_answer(destination: Destination, ask: Ask) -> None:
    for _ in range(101):
        destination.add("op-1")
    answer = ask()
    assert (len(answer.candidates), answer.partial) == (100, True)


def test_an_expression_that_cannot_be_applied_is_the_reason(destination: Destination, ask: Ask) -> None:
    destination.add("op-1", status=1)
    assert ask(cancelled="starts_with(status, 'c')").failed == "expression_failed"


def test_a_view_is_as_old_as_a_cache_says(destination: Destination, ask: Ask) -> None:
    destination.answer_looks(Planned(body=b'{"data": []}', headers=(("Age", "600"),)))
    now = datetime.now(UTC)
    assert ask(question={"now": now}).as_of == now - timedelta(minutes=10)


def test_a_time_of_the_view_that_cannot_be_read_is_unknown(destination: Destination, ask: Ask) -> None:
    assert ask(as_of="nothing").as_of is None
