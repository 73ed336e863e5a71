"""Ask whether a page keeps the accessibility rules and fits its screen."""

from pathlib import Path

from playwright.sync_api import Page

SCRIPT = Path(__file__).parents[2] / "node_modules" / "axe-core" / "axe.min.js"
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]


def page_faults(page: Page) -> list[str]:
    """Give the broken rules of WCAG 2.2 AA with the elements that break them, and by how much the page is too wide."""
    # A click returns when its answer begins: the document may not be there yet.
    page.wait_for_load_state()
    # Evaluated by the browser's debugger, so the page's own policy against foreign scripts stays in force.
    page.evaluate(SCRIPT.read_text())
    found = page.evaluate("rules => axe.run({runOnly: rules})", RULES)
    broken = [
        f"{violation['id']}: {', '.join(str(node['target']) for node in violation['nodes'])}"
        for violation in found["violations"]
    ]
    overflow = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    return broken + ([f"wider than the screen by {overflow}"] if overflow > 0 else [])
