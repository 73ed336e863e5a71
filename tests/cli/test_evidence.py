from pathlib import Path

import pytest

from dashboard.db import Database
from tests.cli.conftest import Run
from tests.receiving import ENVIRONMENT, POLICY, add_payment, operation, settlement


@pytest.fixture(autouse=True)
def policy(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    (folder / "policies.toml").write_text(POLICY)
    monkeypatch.setenv("DASHBOARD_POLICIES", str(folder / "policies.toml"))


def test_a_file_is_taken_in_and_told(ready: Database, run: Run, folder: Path) -> None:
    paid = add_payment(ready)
    (folder / "day.csv").write_bytes(settlement((paid, "tx-1", "318.93", "settled")))
    ended = run("evidence", "import", "day.csv", "--destination", "bank")
    assert ended.status == 0
    assert "1 lines read: 1 new, 1 of one operation, 0 of none, 0 of several, 0 rejected." in ended.out
    assert (
        "1 operations judged: 0 absent, 1 correct, 0 divergent, 0 ambiguous, 0 not applicable; 1 changed" in ended.out
    )
    assert operation(ready, paid).state == "confirmed"


def test_doubtful_and_bad_lines_are_listed_and_written_beside_the_file(ready: Database, run: Run, folder: Path) -> None:
    lines = [("nobody", "", "1", "settled")] * 25
    (folder / "day.csv").write_bytes(settlement(*lines) + b"\r\nbad")
    ended = run("evidence", "import", "day.csv", "--destination", "bank")
    assert ended.status == 1
    assert ended.err.count("No operation of this destination fits; the line is kept.") == 20
    assert "... and 6 more." in ended.err
    rejects = (folder / "day.csv.rejects.jsonl").read_text().splitlines()
    assert len(rejects) == 26
    assert '"line": 27' in rejects[-1]


@pytest.mark.parametrize(
    ("destination", "content", "words"),
    [
        ("nowhere", b"a\n", "describes no result files of nowhere"),
        ("bank", b"Reference,Amount,Status\n", "Transaction: The header has no such column"),
        ("bank", b"", "is empty"),
    ],
)
@pytest.mark.usefixtures("ready")
def test_what_cannot_be_begun_is_one_line(run: Run, folder: Path, destination: str, content: bytes, words: str) -> None:
    (folder / "day.csv").write_bytes(content)
    ended = run("evidence", "import", "day.csv", "--destination", destination)
    assert (ended.status, words in ended.err) == (2, True)
