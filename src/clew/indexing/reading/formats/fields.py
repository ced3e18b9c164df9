"""Fields at the beginning of a text: `:Author: Ada`, `Author: Ada` or `**Author:** Ada`."""

from __future__ import annotations

import re
from typing import Any

from clew.text import one_line

_MARKED = re.compile(r":(?P<name>[\w][\w -]{0,60}):(?:[ \t]+(?P<value>[^\n]*))?\n?")
_BARE = re.compile(r"(?P<name>[A-Z][\w-]{0,60}+(?: [\w-]{1,60}+){0,3}+):[ \t]+(?P<value>[^\n]*)\n?")
_BOLD = re.compile(
    r"(?:[-*+][ \t]+)?\*\*(?P<name>[^\W\d_][\w -]{0,40}?)(?::\*\*|\*\*[ \t]?:)[ \t]*"
    r"(?P<value>[^\n]*)\n?"
)
_CONTINUED = re.compile(r"(?<![ \t])[ \t]++(?P<value>\S[^\n]*)\n?")
_TELLING = frozenset(
    "abstract author authors category created date editor editors from last-modified modified"
    " obsoletes published revised status subject title updated version".split()
)
"""Of bare fields one of these must be one: a dialogue has names and colons, too."""
_PEOPLE = frozenset({"author", "authors", "editor", "editors"})
_MOST = 100
"""Fields of a text, at most."""
_ADDRESS = re.compile(r"(?<!\s)\s*+<[^<>]*>")
_BETWEEN_NAMES = re.compile(r"[,;]\s+|\n\s*")
Fields = dict[str, Any]


def marked_fields(text: str, position: int = 0) -> Fields:
    """The field list (`:Name: value`) that begins at the position."""
    return _fields(text, position, _MARKED)


def bare_fields(text: str, position: int = 0) -> Fields:
    """The lines `Name: value` that begin at the position; none where no name is a telling one.

    They end with an empty line; indented lines go on with the value above them.
    """
    found = _fields(text, position, _BARE)
    return found if len(found) > 1 and _TELLING.intersection(found) else {}


def bold_fields(text: str, position: int = 0) -> Fields:
    """The lines `**Name:** value` that begin at the position; none where no name is telling."""
    found = _fields(text, position, _BOLD)
    return found if _TELLING.intersection(found) else {}


def _fields(text: str, position: int, form: re.Pattern[str]) -> Fields:
    found: Fields = {}
    while len(found) < _MOST and (field := form.match(text, position)):
        lines = [field["value"] or ""]
        position = field.end()
        while more := _CONTINUED.match(text, position):
            lines.append(more["value"])
            position = more.end()
        name = field["name"].strip().lower()
        found.setdefault(name, _value(name, lines))
    return found


def _value(name: str, lines: list[str]) -> str | list[str]:
    """A value as one line; several people as a list of names, without their addresses."""
    if name not in _PEOPLE:
        return one_line(" ".join(lines))
    people = _BETWEEN_NAMES.split(_ADDRESS.sub("", "\n".join(lines)))
    names = [one_line(name).strip(" ,;") for name in people]
    names = [name for name in names if name]
    return names if len(names) > 1 else "".join(names)
