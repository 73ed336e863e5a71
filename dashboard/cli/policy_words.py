"""The words for what is wrong with a policy file: what is wrong; how to mend it."""

from collections.abc import Mapping
from types import MappingProxyType

from dashboard.domain.errors import Problem

MOST_LISTED = 12
A_DURATION = "write a whole number and a unit without a blank: 30s, 5m, 2h or 400d"

POLICY_WORDS: Mapping[str, str] = MappingProxyType(
    {
        "policy_unreadable": "it is no TOML: {reason}; mend the line it names",
        "policy_key_unknown": "there is no such key; {remedy}",
        "policy_key_missing": "the key is missing; add it",
        "policy_value_unknown": '"{value}" is no value of this key; {remedy}',
        "policy_name_invalid": '"{value}" is no name; use 1 to {maximum} printable characters without outer blanks',
        # Durations and numbers
        "policy_duration_invalid": '"{value}" is no duration; {remedy}',
        "policy_duration_too_long": '"{value}" is too long; write at most {maximum}',
        "policy_duration_zero": "it must be longer than nothing; write a duration such as 30s",
        "policy_decimal_invalid": '"{value}" is no exact number; write digits in quotes, such as "0.01"',
        "policy_amount_negative": "{value} is negative; write an amount of 0 or more",
        "policy_share_invalid": '{value} is no share; write a number from 0 to below 1 in quotes, such as "0.02"',
        "policy_currency_invalid": '"{value}" is no currency; write three capital letters, such as EUR',
        "policy_email_invalid": '"{value}" is no e-mail address; write one such as team@example.com',
        "policy_repeat_too_short": "people would be told all the time; write at least 1m",
        "policy_addresses_count": "it is no list anybody gets mail by; write 1 to {maximum} addresses",
        "policy_factor_invalid": "{value} is no factor; write a number from 1 to 100",
        "policy_cap_too_short": "it is shorter than `{than}`; write a longer one",
        "policy_greater_than_equal": "the number is too small; write at least {ge}",
        "policy_less_than_equal": "the number is too large; write at most {le}",
        "policy_int_type": "it is no whole number; write digits without quotes and without a point",
        "policy_bool_type": "it is neither true nor false; write one of them without quotes",
        "policy_string_type": "it is no text; put it in quotes",
        "policy_string_too_short": "the text is too short; write at least {min_length} character",
        "policy_string_too_long": "the text is too long; write at most {max_length} characters",
        "policy_string_pattern_mismatch": "it is no name of an HTTP header; use letters, digits and -",
        "policy_model_type": "it is no table; write {{ key = value }} or a [table] of its own",
        "policy_model_attributes_type": "it is no table; write {{ key = value }} or a [table] of its own",
        "policy_dict_type": "it is no table; write {{ name = value }} or a [table] of its own",
        "policy_tuple_type": "it is no list; write it in [ ]",
        # The environment
        "policy_variable_invalid": '"{value}" is no name of an environment variable; use letters, digits and _',
        "policy_variable_unset": "the environment variable {variable} is not set; set it, or take the key away",
        "policy_text_missing": 'it says nothing; write a text, or {{ env = "NAME", default = "..." }}',
        "policy_address_invalid": '"{value}" is no web address; write http(s)://, a host, no user, no query',
        "policy_address_of_variable_invalid": "{variable} holds no web address; set it to http://host or https://host",
        # Probes
        "policy_expression_invalid": '"{value}" is no JMESPath: {reason}; see https://jmespath.org',
        "policy_path_invalid": '"{value}" is no path; begin with one / and leave out blanks',
        "policy_placeholder_unknown": '"{value}" is no placeholder; {remedy}',
        "policy_placeholder_missing": "nothing in it names the operation; {remedy}",
        "policy_braces_unbalanced": "a brace has no partner; write placeholders as {{operation_id}}",
        "policy_query_not_reading": "it is no single reading statement; write one SELECT (or WITH ... SELECT)",
        "policy_entry_invalid": '"{value}" names no function; write "package.module:function"',
        "policy_entry_unreachable": '"{value}" cannot be imported: {reason}; install it where this runs, or correct it',
        "policy_probe_without_destination": "a probe of kind {kind} asks a destination, and none is named; name one",
        "policy_probe_impossible": "a probe of kind {kind} needs {key}, which is missing; add it, or use another kind",
        "policy_match_missing": "no line could be matched to an operation; {remedy}",
        # Comparison
        "policy_tolerance_not_numeric": "a field of kind {kind} is equal or not; remove it, or set kind to {allowed}",
        "policy_tolerance_negative": "{value} is negative; write the largest distance that is still equal, 0 or more",
        "policy_compared_twice": 'the field "{value}" is compared twice; keep one of the two',
        # Between keys
        "policy_destination_unknown": 'there is no destination "{value}"; {remedy}',
        "policy_type_unknown": 'there is no type "{value}"; {remedy}',
        "policy_sink_unknown": 'there is no sink "{value}"; {remedy}',
        "policy_partial_of_nothing": "partial says how much a compensation gives back; name the compensation as well",
        "policy_compensation_cycle": "compensations go in a circle ({cycle}); take the key away from one of them",
        "policy_ambiguous_retry": "what is unproven is never sent again by itself; write review",
        "policy_response_unsafe": '"{value}" is not safe after this verdict; {remedy}',
        "policy_retry_unsafe": (
            "a retry could make a second effect: the destination honours no idempotency key and no visibility_lag"
            " says when its answers can be believed; write visibility_lag, or on.absent = review, or mode = observe"
        ),
    }
)


def policy_in_words(problem: Problem) -> str:
    """Say what is wrong with a key, how to mend it, and in which line it stands."""
    details = {name: _listed(value) for name, value in problem.details.items()}
    words = POLICY_WORDS.get(problem.code, f"the value is refused ({problem.code}); see docs/policies.md")
    line = f" (line {details['line']})" if "line" in details else ""
    return words.format_map(_Details(details, remedy=_remedy(problem))) + line


def _remedy(problem: Problem) -> str:
    suggestion, allowed = problem.details.get("suggestion"), problem.details.get("allowed")
    if problem.code == "policy_duration_invalid":
        return f'write "{suggestion}"' if suggestion else A_DURATION
    if suggestion:
        return f"did you mean {suggestion}?"
    if not isinstance(allowed, tuple) or not allowed:
        return "remove it, or add what it names"
    rest = "" if len(allowed) <= MOST_LISTED else f" and {len(allowed) - MOST_LISTED} more"
    return f"use one of {', '.join(map(str, allowed[:MOST_LISTED]))}{rest}"


def _listed(value: object) -> object:
    return ", ".join(map(str, value)) if isinstance(value, tuple) else value


class _Details(dict[str, object]):
    # A sentence with a gap is better than a traceback.
    def __missing__(self, name: str) -> str:
        return "?"
