"""From the tables of a policy file to the values the rest of the product works with, defaults applied."""

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from pydantic import BaseModel

from dashboard.domain.evidence_sources import EvidenceFile, Receipts
from dashboard.domain.policy import (
    Alerting,
    Approvals,
    Auth,
    Comparison,
    Destination,
    ProbeRule,
    Sink,
    TypePolicy,
)
from dashboard.services.policy_alerts import AlertsTable, WebhookTable, installation_rules, type_rules
from dashboard.services.policy_destinations import AnySink, AuthTable, DestinationTable, EvidenceTable, ReceiptsTable
from dashboard.services.policy_file import ApprovalsTable, PolicyFile, RulesTable, TypeTable
from dashboard.services.policy_probes import AnyProbe
from dashboard.services.policy_values import Table, Text, Variable

Environment = Mapping[str, str]


def default_policy(file: PolicyFile) -> TypePolicy:
    """Give the rules that hold where a type says nothing."""
    return _with_rules(TypePolicy(), file.defaults)


def type_policies(file: PolicyFile) -> Mapping[str, TypePolicy]:
    """Give the rules of every type of the file, by name."""
    defaults = default_policy(file)
    return MappingProxyType({name: _type_policy(name, table, defaults) for name, table in file.types.items()})


def destinations(file: PolicyFile, environment: Environment) -> Mapping[str, Destination]:
    """Give the outside systems; an address whose variable is not set and that has no default is None."""
    return MappingProxyType({name: _destination(name, table, environment) for name, table in file.destinations.items()})


def sinks(file: PolicyFile, environment: Environment) -> Mapping[str, Sink]:
    """Give the sinks of outbox messages."""
    return MappingProxyType({name: _sink(name, table, environment) for name, table in file.sinks.items()})


def alerting(table: AlertsTable, environment: Environment) -> Alerting:
    """Give what is watched of the installation and who is told of alerts."""
    plain = {name: table.given()[name] for name in ("repeat", "clear_for") if name in table.given()}
    return Alerting(
        rules=installation_rules(table),
        anchored_within=table.audit.anchored_within if table.audit else None,
        webhook=_alert_webhook(table.webhook, environment) if table.webhook else None,
        mail=tuple(dict.fromkeys(table.mail.to)) if table.mail else (),
        **plain,
    )


def text_of(value: Text | None, environment: Environment) -> str | None:
    """Give the text of the environment, or its default; an empty variable counts as not set."""
    if value is None:
        return None
    return (environment.get(value.env) if value.env else None) or value.default


def _type_policy(name: str, table: TypeTable, defaults: TypePolicy) -> TypePolicy:
    return replace(
        _with_rules(defaults, table),
        name=name,
        description=table.description,
        expected_effect=table.expected_effect,
        destination=table.destination or "",
        source_of_truth=table.source_of_truth,
        financial=table.financial,
        probe=_probe(table.probe) if table.probe else None,
        compare=tuple(Comparison(**dict(compared)) for compared in table.compare),
        compensation=table.compensation,
        partial=table.partial,
    )


def _with_rules(base: TypePolicy, rules: RulesTable) -> TypePolicy:
    # Tables join key by key, and what is to be redacted or masked adds up; all else replaces.
    plain = ("mode", "deadline", "visibility_lag", "freshness", "retention")
    return replace(
        base,
        **{name: value for name, value in rules.given().items() if name in plain},
        window=replace(base.window, **_given(rules.window)),
        retry=replace(base.retry, **_given(rules.retry)),
        on=MappingProxyType({**base.on, **(rules.on or {})}),
        approvals=_approvals(base.approvals, rules.approvals),
        redact=tuple(dict.fromkeys((*base.redact, *(rules.redact or ())))),
        mask=tuple(dict.fromkeys((*base.mask, *(rules.mask or ())))),
        alerts=type_rules(base.alerts, rules.alerts),
    )


def _approvals(base: Approvals, table: ApprovalsTable | None) -> Approvals:
    given = _given(table)
    expires = given.pop("expires", base.expires)
    above = given.pop("manager_above", None) or {}
    notify = given.pop("notify", base.notify)
    return Approvals(
        needed=MappingProxyType({**base.needed, **given}),
        expires=expires,
        manager_above=MappingProxyType({**base.manager_above, **above}),
        notify=notify,
    )


def _probe(probe: AnyProbe) -> ProbeRule:
    settings = dict(_settings(probe, {}))
    if "connection_env" in settings:
        settings["connection"] = settings.pop("connection_env")
    return ProbeRule(probe.kind, MappingProxyType(settings))


def _destination(name: str, table: DestinationTable, environment: Environment) -> Destination:
    own = {key: table.given()[key] for key in ("timeout",) if table.timeout}
    address = text_of(table.base_url, environment)
    return Destination(
        name,
        base_url=address.rstrip("/") if address else None,
        auth=_auth(table.auth),
        honours_idempotency_key=table.honours_idempotency_key,
        allow_private=table.allow_private,
        retries_per_minute=table.budget.retries_per_minute if table.budget else None,
        evidence=_evidence(table.evidence) if table.evidence else None,
        receipts=_receipts(table.receipts) if table.receipts else None,
        **own,
    )


def _alert_webhook(table: WebhookTable, environment: Environment) -> Destination:
    own: dict[str, Any] = {"timeout": table.timeout} if table.timeout else {}
    address = text_of(table.url, environment)
    return Destination("alerts", base_url=address, auth=_auth(table.auth), allow_private=table.allow_private, **own)


def _auth(table: AuthTable | None) -> Auth | None:
    return Auth(**dict(table)) if table else None


def _evidence(table: EvidenceTable) -> EvidenceFile:
    return EvidenceFile(**{**dict(table), "columns": MappingProxyType(table.columns)})


def _receipts(table: ReceiptsTable) -> Receipts:
    given = _given(table)
    secret: Variable = given.pop("secret")
    return Receipts(secret_env=secret.env, **{**given, "fields": MappingProxyType(table.fields)})


def _sink(name: str, table: AnySink, environment: Environment) -> Sink:
    return Sink(name, table.kind, _settings(table, environment))


def _settings(table: BaseModel, environment: Environment) -> Mapping[str, object]:
    """Flatten a table: a secret becomes `<key>_env`, a text of the environment its value, what is unset is left out."""
    settings: dict[str, object] = {}
    for key, value in table:
        if isinstance(value, Variable):
            settings[f"{key}_env"] = value.env
        elif isinstance(value, Text):
            settings[key] = text_of(value, environment)
        elif value is not None and key != "kind":
            settings[key] = value
    return MappingProxyType(settings)


def _given(table: Table | None) -> dict[str, Any]:
    if table is None:
        return {}
    return {name: value for name, value in table.given().items() if value is not None}
