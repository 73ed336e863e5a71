"""`dashboard policy simulate`: what another policy file would have decided."""

from pathlib import Path

import click

from dashboard.cli.setup import FILE, ready_database
from dashboard.config import Settings
from dashboard.domain.replaying import Change, Outcome, Why
from dashboard.domain.text import visible
from dashboard.services.policies import load_policies
from dashboard.services.simulation import Summary, TypeSummary
from dashboard.services.simulation import simulate as replay

MOST_DAYS = 3650
WHY = {
    Why.MODE: "another mode",
    Why.COMPARISON: "other fields or tolerances",
    Why.ATTEMPTS: "another number of attempts",
    Why.DEADLINE: "another deadline",
    Why.PROOF: "absence would not be proven",
    Why.RESPONSE: "another response to this verdict",
}


@click.command()
@click.argument("new", metavar="NEW.toml", type=FILE)
@click.option("--days", default=30, show_default=True, type=click.IntRange(1, MOST_DAYS), help="How far to go back.")
@click.option("--against", type=FILE, help="The policy to compare with; else the one that DASHBOARD_POLICIES names.")
def simulate(new: Path, *, days: int, against: Path | None) -> None:
    """Decide the stored verdicts of the last days under NEW.toml and list every decision that would change.

    Nothing is written. Responses, attempts, deadlines, modes and comparisons are replayed; when a destination is
    asked is not, because another window would have brought other answers.
    """
    settings = Settings()
    old_policies, new_policies = load_policies(against or settings.policies), load_policies(new)
    with ready_database(settings) as database:
        summary = replay(database, old=old_policies, new=new_policies, days=days, tell=_tell)
    _print_summary(summary, days)


def _tell(change: Change) -> None:
    case = change.case
    old, new = change.old, change.new
    verdict = old.judged.verdict.value
    if new.judged.verdict is not old.judged.verdict:
        verdict = f"{verdict} -> {new.judged.verdict.value}"
    click.echo(
        f"{case.at:%Y-%m-%d %H:%M}Z  {visible(case.operation_id)}  {visible(case.type)}  {verdict}: "
        f"{_words(old)} -> {_words(new)} ({WHY[change.why]})"
    )


def _words(outcome: Outcome) -> str:
    decision = outcome.decision
    if decision.target is None:
        return decision.step.value
    words = f"{decision.step.value} to {decision.target.value}"
    return f"{words}, only noted" if outcome.noted else words


def _print_summary(summary: Summary, days: int) -> None:
    replayed = sum(each.replayed for each in summary.values())
    changed = sum(each.changes.total() for each in summary.values())
    if changed:
        click.echo()
    for name, each in sorted(summary.items()):
        click.echo(f"{visible(name)}: {_of_type(each)}")
    told = f"{_counted(replayed, 'verdict')} of {days} days, {_counted(changed, 'decision')} would change."
    click.echo(f"{told} Nothing was written.")


def _of_type(each: TypeSummary) -> str:
    told = f"{_counted(each.replayed, 'verdict')}, {_counted(each.changes.total(), 'changed decision')}"
    if each.changes:
        told += f" ({', '.join(f'{old} -> {new}: {count:,}' for (old, new), count in each.changes.most_common())})"
    if each.kept:
        told += f"; kept because what was stored does not show the new fields: {each.kept:,}"
    return told


def _counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
