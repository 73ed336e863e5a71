"""The hash of an audit entry changes with every byte and with nothing else."""

from hypothesis import assume, given
from hypothesis import strategies as st

from dashboard.domain.chain import Field, canonical_bytes, entry_hash

Fields = list[Field]

texts = st.text(st.characters(codec="utf-8"))
fields = st.lists(st.tuples(texts, st.none() | st.integers() | texts), max_size=6)
hashes = st.none() | texts


@given(hashes, fields, hashes, fields)
def test_different_entries_have_different_bytes(
    one: str | None, left: Fields, other: str | None, right: Fields
) -> None:
    assume((one, left) != (other, right))
    assert canonical_bytes(one, left) != canonical_bytes(other, right)


@given(hashes, fields)
def test_the_same_entry_has_the_same_hash(previous: str | None, entry: Fields) -> None:
    assert entry_hash(previous, entry) == entry_hash(previous, list(entry))


def test_nothing_text_and_number_are_told_apart() -> None:
    assert len({entry_hash(None, [("a", value)]) for value in (None, "", "None", "0", 0)}) == 5


def test_text_cannot_move_from_one_field_to_the_next() -> None:
    assert entry_hash(None, [("a", "xy"), ("b", "z")]) != entry_hash(None, [("a", "x"), ("b", "yz")])


def test_the_encoding_never_changes() -> None:
    entry: Fields = [("seq", 1), ("actor", "ana@example.com"), ("reason", None)]
    assert entry_hash(None, entry) == "81b7d6961ce5551fcbc2d80a3c762f66bd8ffd6f2ec6c1ec027dfcd53c28574c"
    assert entry_hash("0" * 64, entry) != entry_hash(None, entry)
