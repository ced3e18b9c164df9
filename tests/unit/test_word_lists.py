from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import clew
from clew.word_lists import read_word_lists, word_list

PACKAGE = Path(clew.__file__).parent
OTHERS = {*(PACKAGE / "attach").iterdir(), PACKAGE / "times" / "years.toml"}
"""Examples of questions, and units: "MW" and "mw" are not the same."""
FILES = sorted(set(PACKAGE.rglob("*.toml")) - OTHERS)
"""Lists of words that are looked up in small letters."""


def strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from strings(inner)


def read(file: Path) -> dict[str, object]:
    return read_word_lists("clew", *file.relative_to(PACKAGE).parts)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_words_have_no_capitals(file: Path) -> None:
    """A word with a capital would never be found: what is looked up is in lower case."""
    words = [word for text in strings(read(file)) for word in text.split()]

    assert words
    assert [word for word in words if word != word.lower()] == []


def test_a_list_is_what_stands_between_white_space() -> None:
    assert word_list("\n one two\n  three's\n") == {"one", "two", "three's"}
