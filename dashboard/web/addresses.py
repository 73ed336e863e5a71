"""Addresses, made by the hundred: a page of figures has one for each of its numbers, a list for each of its rows.

Werkzeug looks for the rule and works out the query anew with each, which takes two to four times as long.
"""

from collections.abc import Iterator, Mapping
from functools import cached_property, lru_cache
from typing import Any
from urllib.parse import quote_plus

from flask import Flask, has_request_context, request
from werkzeug.routing import Rule

# What Werkzeug leaves as it is in a query, so that both write one address alike.
SAFE = "!$'()*,/:;?@"


class AddressedFlask(Flask):
    """Flask with a quick `url_for` for what nearly every call asks: a path of this host, with a query."""

    def url_for(
        self,
        /,
        endpoint: str,
        *,
        _anchor: str | None = None,
        _method: str | None = None,
        _scheme: str | None = None,
        _external: bool | None = None,
        **values: Any,
    ) -> str:
        """Give what Flask gives: a list repeats a parameter, None leaves it out."""
        if not (_anchor or _method or _scheme or _external) and has_request_context():
            quick = self._quick(endpoint, values)
            if quick is not None:
                return quick
        return super().url_for(
            endpoint, _anchor=_anchor, _method=_method, _scheme=_scheme, _external=_external, **values
        )

    def _quick(self, endpoint: str, values: Mapping[str, Any]) -> str | None:
        rule = self._rules.get(endpoint)
        if rule is None:
            return None
        path = _path(rule, values)
        if path is None:
            return None
        query = "&".join(_pairs(values, without=rule.arguments)) if len(values) > len(rule.arguments) else ""
        return f"{request.root_path}{path}?{query}" if query else request.root_path + path

    @cached_property
    def _rules(self) -> Mapping[str, Rule]:
        """The rules of endpoints that have but one; none is added once requests are answered."""
        found: dict[str, list[Rule]] = {}
        for rule in self.url_map.iter_rules():
            found.setdefault(rule.endpoint, []).append(rule)
        return {endpoint: rules[0] for endpoint, rules in found.items() if len(rules) == 1 and not rules[0].defaults}


def _path(rule: Rule, values: Mapping[str, Any]) -> str | None:
    if not rule.arguments:
        return rule.rule
    if any(values.get(name) is None for name in rule.arguments):
        return None
    built = rule.build({name: values[name] for name in rule.arguments}, append_unknown=False)
    return built[1] if built else None


def _pairs(values: Mapping[str, Any], *, without: set[str]) -> Iterator[str]:
    for name, value in values.items():
        if value is None or name in without:
            continue
        for each in value if isinstance(value, (list, tuple)) else (value,):
            yield f"{name}={_quoted(str(each))}"


@lru_cache(maxsize=4096)
def _quoted(value: str) -> str:
    return quote_plus(value, safe=SAFE)
