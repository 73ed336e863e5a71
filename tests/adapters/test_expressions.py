import pytest

from dashboard.adapters.expressions import ExactNumber, ExpressionError, find, holds

DOCUMENT = {
    "data": [{"amount": ExactNumber("0.1"), "state": "x"}, {"amount": ExactNumber("0.2"), "state": "cancelled"}]
}


@pytest.mark.parametrize(
    ("expression", "found"),
    [
        ("sum(data[].amount)", "0.3"),
        ("to_string(data[0].amount)", "0.1"),
        ("max_by(data, &amount).state", "cancelled"),
        ("data[?amount > `0.15`] | [0].state", "cancelled"),
        ("data[0].nothing", "None"),
    ],
)
def test_numbers_stay_exact_in_every_function(expression: str, found: str) -> None:
    assert str(find(expression, DOCUMENT)) == found


def test_a_condition_holds_only_where_it_is_true() -> None:
    assert holds("state == 'cancelled'", {"state": "cancelled"})
    assert not holds("state", {"state": "cancelled"})
    assert not holds(None, {})


@pytest.mark.parametrize("expression", ["abs(state)", "nothing(state)", "state ==", "sum(@)"])
def test_what_cannot_be_applied_is_one_kind_of_error(expression: str) -> None:
    with pytest.raises(ExpressionError):
        find(expression, {"state": "x"})
