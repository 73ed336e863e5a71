"""Combinations of keys that would do harm are refused, and what this machine lacks is found without stopping it."""

import pytest

from dashboard.services.policies import check_policies, read_policies
from tests.services.test_policy_problems import found

RETRY = '[destinations.d]\n[types.t]\ndestination = "d"\non = { absent = "retry" }\n'


def test_sending_again_what_may_exist_is_refused() -> None:
    assert found(RETRY) == [("types.t.on.absent", "retry_unsafe")]
    assert found(RETRY + 'visibility_lag = "0s"') == [("types.t.on.absent", "retry_unsafe")]
    assert found('[defaults]\non = { absent = "retry" }\n[types.t]\n') == [("types.t.on.absent", "retry_unsafe")]


@pytest.mark.parametrize(
    "text",
    [
        RETRY + 'visibility_lag = "1m"',
        RETRY + 'mode = "observe"',
        RETRY + '[defaults]\nvisibility_lag = "1m"',
        RETRY.replace("[destinations.d]", "[destinations.d]\nhonours_idempotency_key = true"),
    ],
)
def test_sending_again_is_allowed_where_something_guards_it(text: str) -> None:
    assert found(text) == []


def test_a_lag_of_nothing_undoes_that_of_the_defaults() -> None:
    text = RETRY + 'visibility_lag = "0s"\n[defaults]\nvisibility_lag = "1m"'
    assert found(text) == [("types.t.on.absent", "retry_unsafe")]


@pytest.mark.parametrize("table", ["defaults", "types.t"])
def test_what_is_unproven_is_never_sent_again(table: str) -> None:
    assert found(f'[{table}]\non = {{ ambiguous = "retry" }}') == [(f"{table}.on.ambiguous", "ambiguous_retry")]


@pytest.mark.parametrize(
    ("verdict", "response"),
    [
        ("absent", "confirm"),
        ("absent", "close"),
        ("divergent", "retry"),
        ("divergent", "confirm"),
        ("ambiguous", "confirm"),
        ("correct", "retry"),
        ("not_applicable", "retry"),
    ],
)
def test_a_response_that_a_verdict_does_not_carry_is_refused(verdict: str, response: str) -> None:
    text = f'[types.t]\non = {{ {verdict} = "{response}" }}'
    assert found(text) == [(f"types.t.on.{verdict}", "response_unsafe")]


def test_compensations_end_somewhere() -> None:
    text = '[types.a]\ncompensation = "b"\n[types.b]\ncompensation = "c"\n[types.c]\ncompensation = "b"\n'
    assert found(text) == [
        ("types.b.compensation", "compensation_cycle"),
        ("types.c.compensation", "compensation_cycle"),
    ]


def test_a_missing_secret_is_found_and_stops_no_start() -> None:
    text = '[destinations.d]\nbase_url = "https://d.example"\nauth = { kind = "bearer", env = "D_TOKEN" }\n'
    assert found(text) == [("destinations.d.auth.env", "variable_unset")]
    assert found(text, D_TOKEN="x") == []
    assert read_policies(text.encode(), environment={}).destinations["d"].base_url == "https://d.example"


def test_a_secret_of_what_is_only_stood_in_for_is_noted() -> None:
    text = (
        '[destinations.d]\nbase_url = { env = "D_URL", default = "http://127.0.0.1:1" }\n'
        'auth = { kind = "bearer", env = "D_TOKEN" }\n'
    )
    checked = check_policies(text.encode(), environment={})
    assert (checked.problems, [note.details["variable"] for note in checked.notes]) == ((), ["D_TOKEN"])
    assert found(text, D_URL="https://d.example") == [("destinations.d.auth.env", "variable_unset")]


def test_an_address_that_is_nowhere_is_found_and_stops_no_start() -> None:
    text = '[destinations.d]\nbase_url = { env = "D_URL" }\n'
    assert found(text) == [("destinations.d.base_url.env", "variable_unset")]
    assert read_policies(text.encode(), environment={}).destinations["d"].base_url is None


def test_an_address_in_the_environment_is_checked_too() -> None:
    text = '[destinations.d]\nbase_url = { env = "D_URL" }\n'
    assert found(text, D_URL="d.example") == [("destinations.d.base_url", "address_of_variable_invalid")]
