"""What a run of pages found, as Markdown tables that the documents show."""

from collections.abc import Callable, Iterator, Sequence

from dashboard.bench.measuring import OK, Measured, Run
from dashboard.bench.pages import FIGURES

ANCHOR = "Flask-Admin"
FLOOR_PAGE = "operations, first page"
MOST_TIMES, MOST_TIMES_OF_FIGURES, MOST_GROWTH, LEAST_FASTER = 2.0, 12.0, 1.3, 10.0


def table(run: Run) -> str:
    """A line for each page, and how it stands beside what it is held to."""
    return "\n".join([*_head(run), "", *_pages(run), "", *_peers(run), *_judged(run)]) + "\n"


def line(page: Measured) -> str:
    """A page while the run goes on."""
    state = "" if page.status in OK else f"  answered {page.status}!"
    return (
        f"{page.name:<40}{page.statements:>3} statements{page.sql:>8.2f} SQL{page.page:>9.2f} page"
        f"{page.floor:>8.2f} floor{page.times:>6.2f} times{state}"
    )


def _head(run: Run) -> Iterator[str]:
    filled = run.filled
    yield f"{filled['operations']:,} operations, {filled['open']:,} of them open. {run.engine}. {run.date}."
    yield ""
    yield f"{run.machine}. `{run.command}`"


def _pages(run: Run) -> Iterator[str]:
    grew = f" {run.smaller:,} operations | times |" if run.smaller else ""
    yield f"| page, ms | statements | SQL | page | of it this process | floor | times | few grants |{grew}"
    yield "|---|---|---|---|---|---|---|---|" + ("---|---|" if run.smaller else "")
    for page in run.pages:
        narrow = "-" if page.narrow is None else f"{page.narrow:.2f}"
        cells = [page.name, str(page.statements), f"{page.sql:.2f}", f"{page.page:.2f}", f"{page.cpu:.2f}"]
        cells += [f"{page.floor:.2f}", f"{page.times:.2f}", narrow]
        if run.smaller:
            cells += [f"{page.smaller:.2f}", f"{page.grown:.2f}"] if page.smaller else ["-", "-"]
        yield f"| {' | '.join(cells)} |"


def _peers(run: Run) -> Iterator[str]:
    if not run.peers:
        return
    for peer in run.peers:
        if "missing" in peer:
            yield f"{peer['name']} is not there and was skipped: {peer['missing']}."
            yield ""
    if not any("ms" in peer for peer in run.peers):
        return
    yield "| the same table in | page | ms | ours | times as long |"
    yield "|---|---|---|---|---|"
    for peer in run.peers:
        ours = run.page(peer.get("page", ""))
        if ours and ours.page:
            yield (
                f"| {peer['name']} {peer['version']} | {peer['page']} | {peer['ms']:.1f} | {ours.page:.2f} "
                f"| {peer['ms'] / ours.page:.0f} |"
            )
    yield ""


def _judged(run: Run) -> Iterator[str]:
    """What is held and what is not, by name."""
    base = run.page(FLOOR_PAGE)
    held = [page for page in run.pages if page.kind != FIGURES]
    yield _verdict(f"at most {MOST_TIMES:g} times their floor", held, lambda page: page.times, MOST_TIMES)
    if base:
        figures = [page for page in run.pages if page.kind == FIGURES]
        told = f"figures at most {MOST_TIMES_OF_FIGURES:g} times the floor page ({base.floor:.2f} ms)"
        yield _verdict(told, figures, lambda page: page.page / base.floor, MOST_TIMES_OF_FIGURES)
    if any("ms" in peer for peer in run.peers):
        yield _faster(run)
    if run.smaller:
        known = [page for page in run.pages if page.grown]
        yield _verdict(f"grown at most {MOST_GROWTH:g} times", known, lambda page: page.grown or 0.0, MOST_GROWTH)


def _faster(run: Run) -> str:
    """How the pages stand beside Flask-Admin's."""
    pairs = [(run.page(peer["page"]), peer["ms"]) for peer in run.peers if peer["name"] == ANCHOR and "ms" in peer]
    told = [f"{page.name} {ms / page.page:.1f}" for page, ms in pairs if page and page.page]
    return f"- Times as fast as {ANCHOR} (aim: {LEAST_FASTER:g}): {', '.join(told) or 'nothing measured'}."


def _verdict(told: str, pages: Sequence[Measured], of: Callable[[Measured], float], most: float) -> str:
    missed = [f"{page.name} {of(page):.2f}" for page in pages if of(page) > most]
    kept = f"- {len(pages) - len(missed)} of {len(pages)} pages: {told}."
    return f"{kept} Not: {', '.join(missed)}." if missed else kept
