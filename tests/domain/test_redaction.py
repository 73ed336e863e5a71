"""No secret gets through, and nothing else is lost."""

import copy
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboard.domain.redaction import REDACTED, SECRET_NAMES, is_secret_name, redact, redact_text

SECRET = "s3cr3t-hunter2-value"
plain_names = st.sampled_from(["amount", "items", "customer", "status", "note", "idempotency_key", "key"])
plain = st.none() | st.booleans() | st.integers() | st.sampled_from(["ok", "order 452", "Basic plan of the shop"])
trees = st.recursive(
    plain, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(plain_names, inner, max_size=3), max_leaves=6
)


def spelled(name: str, style: int) -> str:
    words = name.split("_")
    camel = words[0] + "".join(word.title() for word in words[1:])
    return [name, name.upper(), name.replace("_", "-"), name.title(), camel, f"x_{name}", f"{name}-value"][style]


spellings = st.builds(spelled, st.sampled_from(SECRET_NAMES), st.integers(0, 6))


@st.composite
def buried(draw: st.DrawFn) -> Any:
    hidden = draw(st.sampled_from([SECRET, [SECRET], {"deep": [SECRET]}]))
    name = draw(spellings)
    tree = draw(st.sampled_from([{name: hidden}, [name, SECRET], {"name": name, "value": hidden}]))
    for _ in range(draw(st.integers(0, 4))):
        around = draw(trees)
        tree = draw(st.sampled_from([{"around": around, "items": tree}, [around, tree, around], {"note": tree}]))
    return tree


@given(buried())
def test_what_a_secret_name_holds_never_comes_through(tree: Any) -> None:
    assert SECRET not in json.dumps(redact(tree))


@given(
    spellings, st.sampled_from(["{0}={1}", "{0}: {1}", '"{0}":"{1}"', '\\"{0}\\": \\"{1} {1}\\"', "?a=1&{0}={1}&b=2"])
)
def test_a_named_secret_inside_text_never_comes_through(name: str, shape: str) -> None:
    if any(part in name.lower() for part in ("pan", "-value")):
        return  # too common a word, or only the end of the name counts
    assert SECRET not in redact_text("upstream said " + shape.format(name, SECRET) + " and closed")


@pytest.mark.parametrize(
    "text",
    [
        f"Bearer {SECRET}",
        f"bearer   {SECRET}.x",
        "Basic dXNlcjpzM2NyM3Q=",
        "key sk_live_4242abcdef used",
        "rk_test_4242abcdef",
        "whsec_C2FVsBQIhrscChlQIMV",
        "ops_" + "Qk3-xV_9aZ" * 4,
        "ghp_abcdefghijklmnop",
        "eyJhbGciOi.eyJzdWIiOiIx.c2lnbmF0dXJl",
        f"https://user:{SECRET}@pay.example/charge",
        f"Set-Cookie: sid={SECRET}; other={SECRET}",
        f"Authorization: Digest user, response={SECRET}",
        "-----BEGIN RSA PRIVATE KEY-----\ns3cr3t\n-----END RSA PRIVATE KEY-----",
        "-----BEGIN PRIVATE KEY-----\ns3cr3t cut off",
    ],
)
def test_what_looks_like_a_secret_is_replaced(text: str) -> None:
    found = redact_text(f"before {text}")
    assert REDACTED in found
    assert found.startswith("before ")
    for leaked in (SECRET, "s3cr3t", "4242", "dXNlcj", "eyJz", "C2FV", "abcdefgh"):
        assert leaked not in found


@given(trees)
def test_what_is_no_secret_stays(tree: Any) -> None:
    assert redact(tree) == tree


@given(buried(), st.lists(st.sampled_from(["items.amount", "note"])))
def test_the_value_given_is_never_changed(tree: Any, paths: list[str]) -> None:
    before = copy.deepcopy(tree)
    redact(tree, paths=paths)
    assert tree == before


@given(buried())
def test_redacting_twice_changes_nothing_more(tree: Any) -> None:
    assert redact(redact(tree)) == redact(tree)


def test_paths_of_a_policy_name_further_fields() -> None:
    value = {"expected": {"email": "a@example.com", "city": "Porto"}, "email": "b@example.com"}
    found = redact(value, paths=["expected.email"])
    assert found == {"expected": {"email": REDACTED, "city": "Porto"}, "email": "b@example.com"}


def test_paths_pass_through_lists_and_do_not_mind_case() -> None:
    found = redact({"Lines": [{"e-mail": "a"}, {"e-mail": "b"}]}, paths=["lines.E_Mail"])
    assert found == {"Lines": [{"e-mail": REDACTED}, {"e-mail": REDACTED}]}


@pytest.mark.parametrize("name", ["Authorization", "X-Api-Key", "accessToken", "client_secret", "SET-COOKIE", "apiKey"])
def test_secret_names_are_known_in_any_spelling(name: str) -> None:
    assert is_secret_name(name)


@pytest.mark.parametrize("name", ["idempotency_key", "tokenised_by", "company", "secretary", "key", ""])
def test_other_names_are_not_secret(name: str) -> None:
    assert not is_secret_name(name)


def test_what_is_nested_too_deep_is_replaced_whole() -> None:
    value: Any = SECRET
    for _ in range(900):
        value = [value]
    assert SECRET not in json.dumps(redact(value))


@pytest.mark.parametrize(
    "part", ["a-", "eyJ-", "secret", "secret =", "Basic ", "://a:", "-----BEGIN ", "cookie ", "'\\"]
)
def test_long_hostile_text_is_read_in_one_pass(part: str) -> None:
    assert redact_text(part * 40_000)
