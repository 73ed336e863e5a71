"""`dashboard policy`: one line a problem, and sentences for what is right."""

from pathlib import Path

import pytest

from dashboard.cli.policy_words import POLICY_WORDS
from tests.cli.conftest import Run

SAMPLE = Path(__file__).parents[1] / "samples" / "policies.toml"
BAD = '[types.charge]\ndeadline = "5"\nmode = "observ"\n'


@pytest.fixture
def secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("CARD_TOKEN", "STOCK_KEY", "MAIL_SECRET", "SHOP_SECRET", "BOOKS_URL", "BROKER_URL", "ALERTS_TOKEN"):
        monkeypatch.setenv(name, "a secret")


@pytest.fixture
def bad(folder: Path) -> Path:
    (folder / "bad.toml").write_text(BAD)
    return folder / "bad.toml"


def test_a_good_file_is_summed_up(run: Run, secrets: None) -> None:
    ended = run("policy", "check", SAMPLE)
    assert (ended.status, ended.err) == (0, "")
    assert ended.out.startswith("Accepted: 7 types, 5 destinations, 4 sinks.\nTypes: charge, refund, ")
    assert ended.out.splitlines()[-1].startswith("Hash: ")


def test_a_bad_file_is_told_line_by_line(run: Run, bad: Path) -> None:
    ended = run("policy", "check", bad)
    assert ended.status == 1
    assert ended.out.splitlines() == [
        'types.charge.deadline: "5" is no duration; write "5s" (line 2)',
        'types.charge.mode: "observ" is no value of this key; did you mean observe? (line 3)',
    ]


def test_a_missing_secret_is_named_and_its_value_never_shown(
    run: Run, secrets: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("STOCK_KEY")
    ended = run("policy", "check", SAMPLE)
    assert ended.status == 1
    assert "destinations.stock.auth.env: the environment variable STOCK_KEY is not set; set it" in ended.out
    assert "a secret" not in ended.out


def test_a_secret_of_a_stand_in_is_a_note(run: Run, secrets: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CARD_TOKEN")
    ended = run("policy", "check", SAMPLE)
    assert ended.status == 0
    assert ended.out.startswith("Note: destinations.card.auth.env: ")


def test_hostile_text_is_made_visible(run: Run, folder: Path) -> None:
    (folder / "a.toml").write_text('["types\\u001b[31m"]\n')
    ended = run("policy", "check", "a.toml")
    assert ended.status == 1
    assert "\x1b" not in ended.out


def test_a_missing_file_is_a_wrong_argument(run: Run) -> None:
    assert run("policy", "check", "nowhere.toml").status == 2


def test_a_type_is_told_in_sentences(run: Run) -> None:
    ended = run("policy", "show", "charge", "--file", SAMPLE)
    assert ended.status == 0
    assert ended.out.startswith("charge: Charge an order\n")
    told = " ".join(ended.out.split())
    assert "One payment of the order's amount exists. The effect lies at card" in told
    assert "Above 500.00 EUR a manager must approve." in told
    assert "absent: It is sent again while attempts are left; then a person decides." in told


def test_every_type_of_the_file_in_force_is_told(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DASHBOARD_POLICIES", str(SAMPLE))
    ended = run("policy", "show")
    assert [name for name in ("charge", "notify", "archive") if f"\n{name}" in f"\n{ended.out}"] == [
        "charge",
        "notify",
        "archive",
    ]


def test_an_unknown_type_is_a_wrong_argument_that_names_the_known(run: Run) -> None:
    ended = run("policy", "show", "chrage", "--file", SAMPLE)
    assert ended.status == 2
    assert "it has: charge, refund, " in ended.err


def test_without_a_file_it_is_said_where_to_name_one(run: Run) -> None:
    ended = run("policy", "show")
    assert ended.status == 2
    assert "set DASHBOARD_POLICIES" in ended.err


def test_every_word_is_a_cause_and_a_remedy() -> None:
    assert [code for code, words in POLICY_WORDS.items() if "; " not in words] == []
