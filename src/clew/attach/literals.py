"""Texts within a written query, made parameters of it."""

from __future__ import annotations

import re
from collections.abc import Mapping

_TEXT = re.compile(
    r"//[^\n]*+"
    r"|/\*(?:[^*]|\*(?!/))*+(?:\*/)?"
    r"|`[^`]*+`?"
    r"|(?P<text>'(?:[^'\\]|\\.)*+'|\"(?:[^\"\\]|\\.)*+\")"
    r"|['\"].*",
    re.DOTALL,
)
"""Comments and quoted names, which stay; texts; and a text without an end, to the query's end."""
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_MEANT = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}


def with_parameters(
    query: str, values: Mapping[str, str | int | float | bool]
) -> tuple[str, dict[str, str | int | float | bool]]:
    """The query with each text in it as a parameter `$text1`, `$text2` …, and all values.

    A query with Unicode escapes stays as it is: the server reads these before it looks for texts.
    """
    found = dict(values)
    if "\\u" in query or "\\U" in query:
        return query, found
    names: dict[str, str] = {}

    def replaced(match: re.Match[str]) -> str:
        if match["text"] is None:
            return match[0]
        text = _ESCAPE.sub(lambda one: _MEANT.get(one[1], one[1]), match["text"][1:-1])
        if text not in names:
            number = len(names) + 1
            while f"text{number}" in found:
                number += 1
            names[text] = f"text{number}"
            found[names[text]] = text
        return f"${names[text]}"

    return _TEXT.sub(replaced, query), found
