"""The keys by which a document is looked up."""

from __future__ import annotations

from clew.text import name_key, split_file_name


def name_keys(title: str, source: str) -> dict[str, str]:
    """The keys of its title and of its file without the ending, by column."""
    return {"title_key": name_key(title), "file_key": name_key(split_file_name(source)[0])}
