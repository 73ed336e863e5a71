import pytest

from tests.architecture.tree import files, lines_matching


@pytest.mark.parametrize(
    "pattern",
    [
        pytest.param(r"\|\s*safe\b", id="safe filter"),
        pytest.param(r"autoescape\s+false", id="escaping switched off"),
        pytest.param(r"\sstyle\s*=|<style\b", id="inline style"),
        pytest.param(r"<script(?![^>]*\ssrc=)", id="inline script"),
        pytest.param(r"\son[a-z]+\s*=", id="event handler"),
        pytest.param(r"\shx-on\b", id="hx-on"),
        pytest.param(r"\shx-(vals|headers)\s*=\s*[\"']\s*(js|javascript):", id="script in hx-vals"),
        pytest.param(r"\shx-trigger\s*=\s*[\"'][^\"']*\[", id="trigger filter"),
        pytest.param(r"javascript:", id="script address"),
        pytest.param(r"(src|href|action)\s*=\s*[\"'](https?:)?//", id="outside address"),
    ],
)
def test_templates_print_and_run_nothing(pattern: str) -> None:
    assert lines_matching(files("templates/**/*.html"), pattern) == []
