"""What a policy file expects of the machine it runs on: variables that are set, functions that can be imported.

These never stop a start: the application shows what it knows without the secrets of probes. `policy check` finds them.
"""

import importlib
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from dashboard.domain.errors import Problem
from dashboard.services.policy_destinations import AuthTable, DestinationTable
from dashboard.services.policy_file import PolicyFile
from dashboard.services.policy_probes import PythonProbe
from dashboard.services.policy_problems import problem
from dashboard.services.policy_values import Table, Text, Variable

Path = tuple[str, ...]


class Needs(NamedTuple):
    """What is missing; `notes` are secrets of destinations that are only stood in for."""

    problems: tuple[Problem, ...]
    notes: tuple[Problem, ...]


def unmet_needs(file: PolicyFile, environment: Mapping[str, str]) -> Needs:
    """List what the file names and this machine lacks.

    Where an address falls back on its default, something stands in for the destination, as on a machine of a
    developer; its secrets are noted and not demanded.
    """
    problems: list[Problem] = []
    notes: list[Problem] = []
    for name, table in file.destinations.items():
        found = _unset(table, ("destinations", name), environment)
        (notes if _is_stand_in(table, environment) else problems).extend(found)
    problems += _unset(file.sinks, ("sinks",), environment)
    problems += _unset(file.alerts, ("alerts",), environment)
    for name, rules in file.types.items():
        problems += _unset(rules.probe, ("types", name, "probe"), environment)
        problems += _unreachable(rules.probe, ("types", name, "probe", "entry"))
    return Needs(tuple(problems), tuple(notes))


def _is_stand_in(table: DestinationTable, environment: Mapping[str, str]) -> bool:
    address = table.base_url
    return bool(address and address.env and address.default and not environment.get(address.env))


def _unset(value: object, path: Path, environment: Mapping[str, str]) -> list[Problem]:
    return [
        problem((*where, "env"), "variable_unset", variable=name)
        for where, name in _variables(value, path)
        if not environment.get(name)
    ]


def _variables(value: object, path: Path) -> Iterator[tuple[Path, str]]:
    if isinstance(value, Variable | AuthTable):
        yield path, value.env
    elif isinstance(value, Text):
        if value.env and value.default is None:
            yield path, value.env
    elif isinstance(value, Table | dict):
        for key, inner in value.items() if isinstance(value, dict) else value:
            yield from _variables(inner, (*path, str(key)))


def _unreachable(probe: object, path: Path) -> Iterator[Problem]:
    if not isinstance(probe, PythonProbe):
        return
    module, _, name = probe.entry.partition(":")
    try:
        found: object = importlib.import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
    except Exception as error:  # noqa: BLE001 - the module of a host may raise anything while it is imported
        yield problem(path, "entry_unreachable", value=probe.entry, reason=f"{type(error).__name__}: {error}")
