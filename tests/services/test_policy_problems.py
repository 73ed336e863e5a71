"""What is wrong with a policy file is told by the path of the key, with its line and a near miss."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboard.domain.errors import InvalidInputError, Problem
from dashboard.services.policies import check_policies, read_policies

HTTP = '[destinations.d]\nbase_url = "https://d.example"\n'
PROBE = HTTP + '[types.t]\ndestination = "d"\n[types.t.probe]\nkind = "http"\n'
COMPARE = '[[types.t.compare]]\nfield = "a"\nexpected = "a"\nactual = "a"\n'


def found(text: str, **environment: str) -> list[tuple[str, str]]:
    problems = check_policies(text.encode(), environment=environment).problems
    return [(problem.field, problem.code.removeprefix("policy_")) for problem in problems]


def only(text: str, **environment: str) -> Problem:
    (problem,) = check_policies(text.encode(), environment=environment).problems
    return problem


@pytest.mark.parametrize(
    ("text", "path", "code"),
    [
        ("= 1", "policies", "unreadable"),
        ("a" * 3, "policies", "unreadable"),
        ("version = 2", "version", "value_unknown"),
        ("[typos.t]", "typos", "key_unknown"),
        ("types = 1", "types", "dict_type"),
        ("[types]\nt = 1", "types.t", "model_type"),
        ('[types.t]\ndeadlin = "2h"', "types.t.deadlin", "key_unknown"),
        ('[types.t]\ndeadline = "5"', "types.t.deadline", "duration_invalid"),
        ('[types.t]\ndeadline = "5 minutes"', "types.t.deadline", "duration_invalid"),
        ("[types.t]\ndeadline = 5", "types.t.deadline", "duration_invalid"),
        ('[types.t]\ndeadline = "0s"', "types.t.deadline", "duration_zero"),
        ('[types.t]\ndeadline = "999999999d"', "types.t.deadline", "duration_too_long"),
        ('[types.t]\nfinancial = "yes"', "types.t.financial", "bool_type"),
        ('[types.t]\nmode = "active"', "types.t.mode", "value_unknown"),
        ('[types.t]\non = { correct = "conform" }', "types.t.on.correct", "value_unknown"),
        ('[types.t]\non = { corect = "confirm" }', "types.t.on.corect", "value_unknown"),
        ('[types."a b"]\nmode = "x"', 'types."a b".mode', "value_unknown"),
        ("[types.t]\nretry = { max_attempts = 0 }", "types.t.retry.max_attempts", "greater_than_equal"),
        ("[types.t]\nretry = { max_attempts = 1.5 }", "types.t.retry.max_attempts", "int_type"),
        ("[types.t]\nretry = { factor = 0.5 }", "types.t.retry.factor", "factor_invalid"),
        ("[types.t]\nretry = { factor = nan }", "types.t.retry.factor", "decimal_invalid"),
        ('[types.t]\nwindow = { after = "9h" }', "types.t.window.cap", "cap_too_short"),
        ('[types.t]\nretry = { first = "9h" }', "types.t.retry.cap", "cap_too_short"),
        ("[types.t]\napprovals = { close = -1 }", "types.t.approvals.close", "greater_than_equal"),
        ('[types.t.approvals.manager_above]\neur = "5"', "types.t.approvals.manager_above.eur", "currency_invalid"),
        ('[types.t.approvals.manager_above]\nEUR = "-5"', "types.t.approvals.manager_above.EUR", "amount_negative"),
        ('[types.t.approvals.manager_above]\nEUR = "5,0"', "types.t.approvals.manager_above.EUR", "decimal_invalid"),
        ('[types.t]\ndestination = "d"', "types.t.destination", "destination_unknown"),
        ('[types.t]\ncompensation = "u"', "types.t.compensation", "type_unknown"),
        ('[types.t]\ncompensation = "t"', "types.t.compensation", "compensation_cycle"),
        ('[types.t]\nprobe = { path = "/" }', "types.t.probe.kind", "key_missing"),
        ('[types.t]\nprobe = { kind = "htp" }', "types.t.probe.kind", "value_unknown"),
        (PROBE, "types.t.probe.path", "key_missing"),
        (PROBE + 'path = "/a?o={order}"', "types.t.probe.path", "placeholder_unknown"),
        (PROBE + 'path = "/a?o={expected.}"', "types.t.probe.path", "placeholder_unknown"),
        (PROBE + 'path = "/a"', "types.t.probe.path", "placeholder_missing"),
        (PROBE + 'path = "/{operation_id}}"', "types.t.probe.path", "braces_unbalanced"),
        (PROBE + 'path = "//evil.example/{operation_id}"', "types.t.probe.path", "path_invalid"),
        (PROBE + 'path = "/{operation_id}"\nmethod = "POST"', "types.t.probe.method", "value_unknown"),
        (PROBE + 'path = "/{operation_id}"\nitems = "a["', "types.t.probe.items", "expression_invalid"),
        (PROBE + 'path = "/{operation_id}"\nitems = "no(a)"', "types.t.probe.items", "expression_invalid"),
        (PROBE + 'path = "/{operation_id}"\nconnection = "X"', "types.t.probe.connection", "key_unknown"),
        (
            PROBE + 'path = "/{operation_id}"\nmissing_status = [200]',
            "types.t.probe.missing_status.0",
            "greater_than_equal",
        ),
        ('[types.t]\nprobe = { kind = "python", entry = "a.b" }', "types.t.probe.entry", "entry_invalid"),
        ('[types.t]\nprobe = { kind = "python", entry = "no_such:f" }', "types.t.probe.entry", "entry_unreachable"),
        ('[types.t]\nprobe = { kind = "python", entry = "json:f" }', "types.t.probe.entry", "entry_unreachable"),
        (
            '[types.t]\nprobe = { kind = "http", path = "/{tenant}" }',
            "types.t.destination",
            "probe_without_destination",
        ),
        ("[types.t]\n" + COMPARE + 'tolerance = "1"', "types.t.compare.0.tolerance", "tolerance_not_numeric"),
        (
            "[types.t]\n" + COMPARE + 'kind = "decimal"\ntolerance = "-1"',
            "types.t.compare.0.tolerance",
            "tolerance_negative",
        ),
        ("[types.t]\n" + COMPARE + 'kind = "time"\ntolerance = "1"', "types.t.compare.0.tolerance", "duration_invalid"),
        ("[types.t]\n" + COMPARE + COMPARE, "types.t.compare", "compared_twice"),
        ('[destinations.d]\nbase_url = "ftp://d"', "destinations.d.base_url", "address_invalid"),
        ('[destinations.d]\nbase_url = "http://user:pw@d"', "destinations.d.base_url", "address_invalid"),
        ('[destinations.d]\nbase_url = { env = "A-B" }', "destinations.d.base_url.env", "variable_invalid"),
        ("[destinations.d]\nbase_url = {}", "destinations.d.base_url", "text_missing"),
        ('[destinations.d]\ntimeout = "5"', "destinations.d.timeout", "duration_invalid"),
        (
            '[destinations.d.evidence]\nformat = "csv"\ncolumns = { a = "A" }',
            "destinations.d.evidence.columns",
            "match_missing",
        ),
        (
            '[destinations.d.evidence]\nformat = "jsonl"\ncolumns = { operation_id = "A B" }',
            "destinations.d.evidence.columns",
            "expression_invalid",
        ),
        ('[sinks.s]\nkind = "webhook"\nurl = "https://s"', "sinks.s.secret", "key_missing"),
        ('[sinks.s]\nkind = "kafka"', "sinks.s.kind", "value_unknown"),
        ('[sinks.s]\nkind = "table"\nmax_claims = 0', "sinks.s.max_claims", "greater_than_equal"),
    ],
)
def test_a_mistake_is_told_by_its_path(text: str, path: str, code: str) -> None:
    assert found(text) == [(path, code)]


@pytest.mark.parametrize(("kind", "needed"), [("http", "base_url"), ("file", "evidence"), ("receipt", "receipts")])
def test_a_probe_needs_what_it_asks(kind: str, needed: str) -> None:
    path = 'path = "/{operation_id}"\n' if kind == "http" else ""
    problem = only(f'[destinations.d]\n[types.t]\ndestination = "d"\n[types.t.probe]\nkind = "{kind}"\n{path}')
    assert (problem.field, problem.code) == ("types.t.probe.kind", "policy_probe_impossible")
    assert problem.details["key"] == f"destinations.d.{needed}"


@pytest.mark.parametrize(
    "query", ["DELETE FROM a WHERE b = :tenant", "SELECT 1; DROP TABLE a", "select 1", "SELECT :x"]
)
def test_a_query_only_reads_and_names_the_operation(query: str) -> None:
    text = f'[types.t]\nprobe = {{ kind = "sql", connection = {{ env = "DB" }}, query = "{query}" }}'
    assert [path for path, _ in found(text, DB="sqlite://")] == ["types.t.probe.query"]


def test_all_mistakes_are_told_at_once_in_the_order_of_the_file() -> None:
    text = '[destinations.d]\ntimeout = "1"\n[defaults]\nmode = "no"\n[types.t]\nx = 1\ndeadline = "y"\n'
    assert [path for path, _ in found(text)] == [
        "destinations.d.timeout",
        "defaults.mode",
        "types.t.x",
        "types.t.deadline",
    ]


def test_a_mistake_names_its_line() -> None:
    text = (
        '# a comment\n[types.t]\ndeadline = "2h"\n\n[[types.t.compare]]\nfield = "a"\nexpected = "a["\nactual = "a"\n'
    )
    assert only(text).details["line"] == 7
    assert only('[types.t]\nwindow = { after = "x" }').details["line"] == 2


@pytest.mark.parametrize(
    ("text", "suggestion"),
    [
        ("[typs.t]", "types"),
        ('[types.t]\nexpected_efect = "x"', "expected_effect"),
        ("[destinations.d]\nhonors_idempotency_key = true", "honours_idempotency_key"),
        ('[types.t]\nmode = "observ"', "observe"),
        ('[types.t]\non = { absent = "retri" }', "retry"),
        ('[types.t]\ndeadline = "5 minutes"', "5m"),
        ('[types.t]\ndeadline = "90"', "90s"),
        ('[destinations.payments]\n[types.t]\ndestination = "payment"', "payments"),
        ('[types.refund]\n[types.t]\ncompensation = "refnd"', "refund"),
    ],
)
def test_a_near_miss_is_suggested(text: str, suggestion: str) -> None:
    assert only(text).details["suggestion"] == suggestion


def test_half_a_year_is_not_taken_for_minutes() -> None:
    assert "suggestion" not in only('[types.t]\ndeadline = "6 months"').details


def test_a_file_that_is_not_utf8_is_told_in_one_problem() -> None:
    with pytest.raises(InvalidInputError) as error:
        read_policies(b'[types.t]\ndescription = "caf\xe9"', environment={})
    assert [problem.code for problem in error.value.problems] == ["policy_unreadable"]


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(), st.lists, max_leaves=3))
def test_no_value_is_a_crash(value: object) -> None:
    written = str(value).lower() if isinstance(value, bool) else repr(value)
    for key in (
        "types.t.deadline",
        "types.t.compare",
        "types.t.probe",
        "destinations.d.base_url",
        "defaults.on",
        "sinks",
    ):
        check_policies(f"{key} = {written}".encode(errors="replace"), environment={})
