"""What the keys of a policy file say about each other: names that must exist, and combinations that would do harm."""

from collections.abc import Callable, Iterator, Mapping
from datetime import timedelta

from dashboard.domain.errors import Problem
from dashboard.domain.policy import Mode, Response, TypePolicy
from dashboard.domain.verdicts import Verdict
from dashboard.services.policy_building import default_policy, text_of, type_policies
from dashboard.services.policy_file import PolicyFile, RulesTable, TypeTable
from dashboard.services.policy_problems import nearest, problem
from dashboard.services.policy_values import is_web_address

# What may follow a verdict without a person. Everything else either repeats an effect or believes what is unproven.
ALLOWED_RESPONSES: Mapping[Verdict, tuple[Response, ...]] = {
    Verdict.CORRECT: (Response.CONFIRM, Response.REVIEW),
    Verdict.ABSENT: (Response.RETRY, Response.REVIEW),
    Verdict.DIVERGENT: (Response.REVIEW,),
    Verdict.AMBIGUOUS: (Response.REVIEW,),
    Verdict.NOT_APPLICABLE: (Response.CLOSE, Response.REVIEW),
}

Found = Iterator[Problem]


def broken_rules(file: PolicyFile, environment: Mapping[str, str]) -> list[Problem]:
    """List every rule between keys that the file breaks."""
    found = list(_addresses(file, environment))
    found += _responses(("defaults",), file.defaults)
    found += _order(("defaults",), default_policy(file), file.defaults)
    found += _sink_known(("defaults",), file.defaults, file)
    policies = type_policies(file)
    for name, table in file.types.items():
        path = ("types", name)
        found += _responses(path, table)
        found += _order(path, policies[name], table)
        found += _sink_known(path, table, file)
        for rule in TYPE_RULES:
            found += rule(path, table, file)
        found += _unsafe_retry(path, policies[name], file)
    return found


def _addresses(file: PolicyFile, environment: Mapping[str, str]) -> Found:
    for name, table in file.destinations.items():
        address = text_of(table.base_url, environment)
        if table.base_url and address and not is_web_address(address):
            path = ("destinations", name, "base_url")
            yield problem(path, "address_of_variable_invalid", variable=table.base_url.env)
    webhook = file.alerts.webhook
    address = text_of(webhook.url, environment) if webhook else None
    if webhook and address and not is_web_address(address):
        path = ("alerts", "webhook", "url")
        yield problem(path, "address_of_variable_invalid", variable=webhook.url.env)


def _responses(path: tuple[str, ...], table: RulesTable) -> Found:
    for verdict, response in (table.on or {}).items():
        allowed = ALLOWED_RESPONSES[verdict]
        if response in allowed:
            continue
        code = "ambiguous_retry" if (verdict, response) == (Verdict.AMBIGUOUS, Response.RETRY) else "response_unsafe"
        yield problem((*path, "on", verdict.value), code, value=response.value, allowed=tuple(map(str, allowed)))


def _order(path: tuple[str, ...], policy: TypePolicy, table: RulesTable) -> Found:
    if table.window and policy.window.cap < policy.window.after:
        yield problem((*path, "window", "cap"), "cap_too_short", than="after")
    if table.retry and policy.retry.cap < policy.retry.first:
        yield problem((*path, "retry", "cap"), "cap_too_short", than="first")


def _destination_known(path: tuple[str, ...], table: TypeTable, file: PolicyFile) -> Found:
    if table.destination and table.destination not in file.destinations:
        yield _unknown((*path, "destination"), "destination_unknown", table.destination, file.destinations)


def _sink_known(path: tuple[str, ...], table: RulesTable, file: PolicyFile) -> Found:
    notify = table.approvals.notify if table.approvals else None
    if notify and notify not in file.sinks:
        yield _unknown((*path, "approvals", "notify"), "sink_unknown", notify, file.sinks)


def _partial_of_something(path: tuple[str, ...], table: TypeTable, _file: PolicyFile) -> Found:
    if table.partial and table.compensation is None:
        yield problem((*path, "partial"), "partial_of_nothing")


def _compensation_known(path: tuple[str, ...], table: TypeTable, file: PolicyFile) -> Found:
    if table.compensation and table.compensation not in file.types:
        yield _unknown((*path, "compensation"), "type_unknown", table.compensation, file.types)


def _compensation_ends(path: tuple[str, ...], table: TypeTable, file: PolicyFile) -> Found:
    walked = [path[-1]]
    follows = table.compensation
    while follows and follows in file.types:
        walked.append(follows)
        if follows == path[-1]:
            yield problem((*path, "compensation"), "compensation_cycle", cycle=" -> ".join(walked))
        if walked.count(follows) > 1:
            return
        follows = file.types[follows].compensation


def _probe_possible(path: tuple[str, ...], table: TypeTable, file: PolicyFile) -> Found:
    if table.probe is None or table.probe.kind not in PROBE_NEEDS:
        return
    needed = PROBE_NEEDS[table.probe.kind]
    destination = file.destinations.get(table.destination or "")
    if table.destination is None:
        yield problem((*path, "destination"), "probe_without_destination", kind=table.probe.kind)
    elif destination and getattr(destination, needed) is None:
        key = f"destinations.{table.destination}.{needed}"
        yield problem((*path, "probe", "kind"), "probe_impossible", kind=table.probe.kind, key=key)


def _unsafe_retry(path: tuple[str, ...], policy: TypePolicy, file: PolicyFile) -> Found:
    """A second sending makes a second effect where no key is honoured; only a written lag makes absence believable."""
    table = file.types[path[-1]]
    destination = file.destinations.get(policy.destination)
    if policy.mode is not Mode.ACT or policy.on[Verdict.ABSENT] is not Response.RETRY:
        return
    lag = table.visibility_lag or (table.visibility_lag is None and file.defaults.visibility_lag) or timedelta()
    if not lag and not (destination and destination.honours_idempotency_key):
        yield problem((*path, "on", "absent"), "retry_unsafe", destination=policy.destination)


def _unknown(path: tuple[str, ...], code: str, name: str, known: Mapping[str, object]) -> Problem:
    return problem(path, code, value=name, suggestion=nearest(name, known), allowed=tuple(known))


PROBE_NEEDS: Mapping[str, str] = {"http": "base_url", "file": "evidence", "receipt": "receipts"}
TYPE_RULES: tuple[Callable[[tuple[str, ...], TypeTable, PolicyFile], Found], ...] = (
    _destination_known,
    _compensation_known,
    _compensation_ends,
    _partial_of_something,
    _probe_possible,
)
