"""`dashboard policy`: check a policy file before it is used, and tell in sentences what it says."""

import os
from collections.abc import Iterator
from decimal import Decimal
from itertools import groupby
from pathlib import Path

import click

from dashboard.cli.errors import FINDINGS
from dashboard.cli.policy_words import policy_in_words
from dashboard.cli.setup import FILE
from dashboard.cli.simulation import simulate
from dashboard.config import Settings
from dashboard.domain.errors import Problem
from dashboard.domain.explaining import Section, Statement, explain
from dashboard.domain.policy import Policies
from dashboard.domain.text import visible
from dashboard.services.policies import check_policies, load_policies
from dashboard.web.policy_words import SECTIONS, sentence

WIDTH = 100


@click.group()
def policy() -> None:
    """Check, explain and try the policy file."""


policy.add_command(simulate)


@policy.command()
@click.argument("file", type=FILE)
@click.pass_context
def check(context: click.Context, file: Path) -> None:
    """Check FILE whole, with what it needs of this machine; exit status 1 if anything is wrong.

    One line a problem: the path of the key, what is wrong, and how to mend it.
    """
    found = check_policies(file.read_bytes(), environment=os.environ)
    for problem in found.problems:
        click.echo(_line(problem))
    for note in found.notes:
        click.echo(f"Note: {_line(note)}")
    if found.policies is None:
        context.exit(FINDINGS)
    for line in _summary(found.policies):
        click.echo(line)


@policy.command()
@click.argument("type_name", metavar="[TYPE]", required=False)
@click.option("--file", type=FILE, help="The policy file; without it, the one that DASHBOARD_POLICIES names.")
def show(type_name: str | None, file: Path | None) -> None:
    """Tell in sentences what the policy of TYPE says, or of every type."""
    path = file or Settings().policies
    if path is None:
        raise click.UsageError("There is no policy file: set DASHBOARD_POLICIES, or name one with --file.")
    policies = load_policies(path)
    if type_name is not None and type_name not in policies.types:
        known = ", ".join(map(visible, policies.types)) or "none"
        raise click.UsageError(f"The policy file has no type {visible(type_name)!r}; it has: {known}.")
    for name in [type_name] if type_name is not None else policies.types:
        for line in _told(policies, name):
            click.echo(line)


def _line(problem: Problem) -> str:
    return f"{visible(problem.field)}: {policy_in_words(problem)}"


def _summary(policies: Policies) -> Iterator[str]:
    counts = {"types": policies.types, "destinations": policies.destinations, "sinks": policies.sinks}
    yield "Accepted: " + ", ".join(f"{len(named)} {kind}" for kind, named in counts.items()) + "."
    for kind, named in counts.items():
        if named:
            yield f"{kind.capitalize()}: {', '.join(map(visible, named))}"
    yield f"Hash: {policies.hash}"


def _told(policies: Policies, name: str) -> Iterator[str]:
    description = policies.of(name).description
    yield click.style(visible(name), bold=True) + (f": {visible(description)}" if description else "")
    for section, statements in groupby(explain(policies, name), key=lambda statement: statement.section):
        yield f"  {SECTIONS[section]}"
        for statement in statements:
            yield click.wrap_text(_sentence(statement), WIDTH, initial_indent="    ", subsequent_indent="      ")
    yield ""


def _sentence(statement: Statement) -> str:
    words = sentence(statement, amount=_amount)
    return f"{statement.values['verdict']}: {words}" if statement.section is Section.VERDICTS else words


def _amount(amount: Decimal, currency: str) -> str:
    return f"{amount:,} {currency}"
