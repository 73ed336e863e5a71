"""Logs: one renderer for all records, with their context and without secrets."""

import json
import logging
import sys
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboard.domain.redaction import SECRET_NAMES
from dashboard.logs import StandardError, about, begin_request, formatter

SECRETS = st.text("abcdefghijkmnopqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789", min_size=14, max_size=30).map(
    "S9z".__add__
)


class Shown:
    """A value of somebody's own class."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text


# How a secret gets into a value: under a name that says so, or inside text of a known look.
HIDES: tuple[Callable[[str], object], ...] = (
    *(lambda secret, name=name: {name: secret} for name in SECRET_NAMES),
    lambda secret: {"X-Api-Key": secret},
    lambda secret: {"customerPassword": [secret, {"again": secret}]},
    lambda secret: {"name": "client_secret", "value": secret},
    lambda secret: ["Authorization", f"Digest {secret}"],
    lambda secret: {"headers": {"Authorization": f"Bearer {secret}"}},
    lambda secret: f"GET /x HTTP/1.1\r\nAuthorization: Bearer {secret}\r\nHost: shop",
    lambda secret: f"curl -H 'Authorization: Basic {secret}==' https://shop.example/",
    lambda secret: f"postgresql://ops:{secret}@database.example/ops?sslmode=require",
    lambda secret: f"https://:{secret}@queue.example/",
    lambda secret: f"GET /pay?token={secret}&order=452 failed",
    lambda secret: f'{{"api_key": "{secret}", "order": 452}}',
    lambda secret: f"sk_live_{secret}",
    lambda secret: f"ops_{secret}{secret}",
    lambda secret: Shown(f"Settings(password='{secret}')"),
    lambda secret: f"password={secret}".encode(),
    lambda secret: {Shown(f"token={secret}"): 1},
    lambda secret: ValueError(f"cannot log in with password: {secret}"),
)


def nested(leaf: st.SearchStrategy[object]) -> st.SearchStrategy[object]:
    plain = st.none() | st.integers() | st.floats() | st.text(max_size=8)
    return st.recursive(
        leaf,
        lambda inner: (
            st.tuples(plain, inner).map(list)
            | st.tuples(inner, plain)
            | st.dictionaries(st.text(max_size=5), inner, min_size=1, max_size=2)
            | inner.map(lambda value: {"order": value})
        ),
        max_leaves=4,
    )


def written(message: str, *args: object, terminal: bool = False, **given: object) -> str:
    made = logging.getLogger("dashboard.tried").makeRecord("dashboard.tried", 20, "f.py", 1, message, args, None)
    made.__dict__.update(given)
    return formatter(terminal=terminal).format(made)


def read(message: str, *args: object, **given: Any) -> Mapping[str, object]:
    found: Mapping[str, object] = json.loads(written(message, *args, **given))
    return found


def raised(error: Exception) -> dict[str, Any]:
    try:
        raise error  # noqa: TRY301 - so that it has a traceback
    except Exception:  # noqa: BLE001 - whatever is given
        return {"exc_info": sys.exc_info()}


@pytest.mark.parametrize("terminal", [False, True])
@given(data=st.data(), secret=SECRETS)
def test_no_secret_is_ever_written(data: st.DataObject, secret: str, *, terminal: bool) -> None:
    value = data.draw(nested(st.sampled_from(HIDES).map(lambda hide: hide(secret))))
    assert secret not in written("it failed", terminal=terminal, answer=value)
    assert secret not in written("it failed: %s", value, terminal=terminal)
    with about(answer=value):
        assert secret not in written("it failed", terminal=terminal)


@given(st.data(), SECRETS)
def test_no_secret_is_written_with_an_error(data: st.DataObject, secret: str) -> None:
    said = data.draw(st.sampled_from(HIDES).map(lambda hide: hide(secret)).filter(lambda value: isinstance(value, str)))
    assert secret not in written("it failed", **raised(RuntimeError(said)))


@given(SECRETS)
def test_no_secret_is_written_with_the_errors_behind_an_error(secret: str) -> None:
    error = ValueError("behind")
    error.__cause__ = RuntimeError(f"amqp://guest:{secret}@broker.example//")
    error.add_note(f"Authorization: Token {secret}")
    text = written("it failed", **raised(error))
    assert secret not in text
    assert "RuntimeError" in text


def test_a_record_carries_what_is_known_around_it() -> None:
    begin_request(request_id="r1")
    with about(operation_id="pay-452", run_id=7, correlation_id=None):
        inside = read("looked at %s", "it")
    after = read("done")
    begin_request()
    assert {
        "event": "looked at it",
        "request_id": "r1",
        "operation_id": "pay-452",
        "run_id": 7,
    }.items() <= inside.items()
    assert {"level": "info", "logger": "dashboard.tried", "request_id": "r1"}.items() <= after.items()
    assert "correlation_id" not in inside
    assert "operation_id" not in after


@pytest.mark.parametrize("value", [float("nan"), object(), {1: {2, 3}}, b"\xff", "\ud800"])
def test_any_value_makes_a_line_of_json(value: object) -> None:
    assert "\n" not in written("it", value=value)
    assert "value" in read("it", value=value)


def test_a_value_that_holds_itself_and_one_that_cannot_be_shown_make_a_line() -> None:
    class Broken:
        def __str__(self) -> str:
            raise OSError

    endless: list[object] = []
    endless.append(endless)
    assert read("it", endless=endless, broken=Broken())["broken"] == "[not shown: OSError]"


def test_text_from_outside_begins_no_line_of_its_own() -> None:
    text = written("key %s", "a\nERROR forged\x1b[2J\u202e", terminal=True)
    assert text.count("\n") == 0
    assert "\x1b[2J" not in text


@pytest.mark.parametrize(
    ("message", "values"), [("token %d", ("hunter2-hunter2",)), ("%(token)d", ({"token": 5551234},))]
)
def test_a_record_that_cannot_be_formatted_says_so_without_its_values(
    capsys: pytest.CaptureFixture[str], message: str, values: tuple[object, ...]
) -> None:
    StandardError().handle(logging.LogRecord("dashboard.odd", logging.ERROR, "odd.py", 1, message, values, None))
    assert capsys.readouterr().err == "A log record of dashboard.odd could not be formatted.\n"
