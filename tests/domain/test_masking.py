import pytest

from dashboard.domain.masking import (
    MASKED,
    hide,
    hide_text,
    hiding_of,
    is_masked,
    mask,
    mask_body,
    masked_fields,
    reads_masked,
)

PATHS = ("expected.customer.email", "iban")
PERSON = {"customer": {"email": "ana@example.com", "name": "Ana"}, "iban": "ES7921000813", "lines": [{"iban": "ES11"}]}


def test_a_masked_field_is_masked_on_either_side_and_at_any_depth() -> None:
    shown = mask({"expected": PERSON, "actual": {"found": [PERSON]}}, paths=PATHS)
    text = str(shown)
    assert "ana@example.com" not in text
    assert "ES" not in text
    assert text.count(MASKED) == 6
    assert "Ana" in text


def test_names_are_compared_whatever_their_spelling() -> None:
    assert mask({"Customer": {"E-Mail": "x"}}, paths=["customer.e_mail"]) == {"Customer": {"E-Mail": MASKED}}


def test_a_longer_name_is_another_field() -> None:
    assert mask({"email_sent": True}, paths=["expected.email"]) == {"email_sent": True}


def test_the_sides_of_a_difference_are_masked_by_the_field_it_names() -> None:
    found = [{"field": "customer.email", "expected": "a", "actual": "b", "differs": True}]
    assert mask(found, paths=PATHS) == [{**found[0], "expected": MASKED, "actual": MASKED}]


def test_what_is_missing_is_not_called_masked() -> None:
    assert mask({"iban": None}, paths=PATHS) == {"iban": None}


def test_free_text_does_not_repeat_a_masked_value() -> None:
    hidden = hiding_of(redact=(), mask=PATHS, sides=[PERSON])
    assert hide_text("ana@example.com did not pay from ES7921000813", hidden) == f"{MASKED} did not pay from {MASKED}"
    assert hide({"detail": "no ES7921000813"}, hidden) == {"detail": f"no {MASKED}"}


@pytest.mark.parametrize("text", ["iban=ES79", "{cut", "<iban>ES79</iban>"])
def test_a_body_that_cannot_be_taken_apart_is_masked_whole(text: str) -> None:
    assert mask_body(text, paths=PATHS) == MASKED
    assert mask_body(text, paths=()) == text


def test_a_json_body_keeps_what_is_not_masked() -> None:
    assert mask_body('{"iban": "ES79", "paid": true}', paths=["body.iban"]) == f'{{"iban": "{MASKED}", "paid": true}}'


def test_fields_are_found_with_their_values() -> None:
    assert masked_fields(PERSON, paths=PATHS) == {
        "customer.email": "ana@example.com",
        "iban": "ES7921000813",
        "lines[0].iban": "ES11",
    }


def test_a_field_inside_of_a_masked_one_is_masked() -> None:
    assert is_masked("customer.email.domain", paths=PATHS)
    assert not is_masked("customer.name", paths=PATHS)


def test_an_expression_that_names_a_masked_field_reads_it() -> None:
    assert reads_masked("lower(customer.email)", paths=PATHS)
    assert not reads_masked("customer.name", paths=PATHS)


def test_nesting_without_end_is_masked_whole() -> None:
    deep: object = "ES7921000813"
    for _ in range(200):
        deep = {"a": deep}
    assert "ES79" not in str(mask(deep, paths=PATHS))
