"""Word lists: TOML files of the package, each beside the module that reads it."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from importlib.resources import files
from typing import Any


@cache
def read_word_lists(package: str, *path: str) -> dict[str, Any]:
    """The content of a TOML file, read once and shared: nobody may change it.

    A list of words is a string, see `word_list`.
    """
    return tomllib.loads(files(package).joinpath(*path).read_text("utf-8"))


@cache
def read_patterns(package: str, *path: str) -> dict[str, dict[str, re.Pattern[str]]]:
    """The regular expressions of a TOML file by table and name; a long one is a list of pieces."""
    tables = read_word_lists(package, *path).items()
    return {
        table: {name: re.compile("".join(pieces)) for name, pieces in patterns.items()}
        for table, patterns in tables
    }


def word_list(text: str) -> frozenset[str]:
    """The words of a string, with any white space between them."""
    return frozenset(text.split())


@cache
def english_words() -> frozenset[str]:
    """English words that are written small, most of them without regular endings."""
    return word_list(read_word_lists("clew", "english.toml")["words"])
