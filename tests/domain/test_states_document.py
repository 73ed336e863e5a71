"""docs/states.md shows the table that the code uses."""

from pathlib import Path

from dashboard.domain.states import State, diagram, table

DOCUMENT = (Path(__file__).parents[2] / "docs" / "states.md").read_text(encoding="utf-8")


def test_the_document_contains_the_generated_diagram() -> None:
    assert f"```mermaid\n{diagram()}\n```" in DOCUMENT


def test_the_document_contains_the_generated_table() -> None:
    assert table() in DOCUMENT


def test_the_document_explains_every_state() -> None:
    assert [state for state in State if f"- **{state}**: " not in DOCUMENT] == []
